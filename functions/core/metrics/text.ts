// Prometheus' text format, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/
import { metrics, type Source } from './metrics.ts'

export const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

export function metricsText(source: Source): string {
  const lines = metrics.flatMap(({ name, type, help, samples }) => {
    const values = new Map<string, number>()
    for (const { suffix = '', labels, value } of samples(source)) {
      const series = `${name}${suffix}${labelsText(labels)}`
      // several counts may share the name `other`
      values.set(series, (values.get(series) ?? 0) + value)
    }
    const found = [...values].map(([series, value]) => `${series} ${value}`)
    const head = [`# HELP ${name} ${escaped(help)}`, `# TYPE ${name} ${type}`]
    return found.length === 0 ? [] : [...head, ...found]
  })
  return `${lines.join('\n')}\n`
}

function labelsText(labels: Record<string, string>): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${quoted(value)}"`)
  return pairs.length === 0 ? '' : `{${pairs.join(',')}}`
}

function escaped(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll('\n', '\\n')
}

function quoted(text: string): string {
  return escaped(text).replaceAll('"', '\\"')
}
