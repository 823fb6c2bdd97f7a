// `GET /metrics`: what monitoring reads, in Prometheus' text format, version 0.0.4:
// https://prometheus.io/docs/instrumenting/exposition_formats/

import * as z from 'zod'
import { readAccess } from '../../http/api/access.ts'
import { route } from '../../http/route.ts'
import { type Measured, metrics } from './rule.ts'
import { createMetricsReader } from './use.ts'

export const metricsRoute = route({
  method: 'get',
  path: '/metrics',
  name: 'getMetrics',
  summary: 'Metrics in the text format of Prometheus. At most 5 s older than the counts they show.',
  about: 'A token that is bound to fleets sees its own fleets and their channels.',
  group: 'Relay',
  caller: 'read',
  answers: { 200: { about: 'All metrics.', schema: z.string(), type: 'text/plain' } },
  handler({ relay, reports }) {
    const read = createMetricsReader(relay)
    return async (c) => {
      const source = { ...(await read(readAccess(c))), reports: reports.read() }
      return c.body(metricsText(source), 200, { 'content-type': metricsType })
    }
  },
})

const metricsType = 'text/plain; version=0.0.4; charset=utf-8'

function metricsText(source: Measured): string {
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
