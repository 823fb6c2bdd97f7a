// Texts that people read, each under its name in one file: `== NAME`, then its lines. A test writes the file
// where FOGHORN_GOLDEN is `write`.
import { readFileSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

export const writesGolden = process.env.FOGHORN_GOLDEN === 'write'

/** What is written down; with FOGHORN_GOLDEN=write, these texts are it from now on. */
export function goldenTexts(file: URL, texts: Record<string, string>): Record<string, string> {
  const path = fileURLToPath(file)
  if (writesGolden) {
    const parts = Object.entries(texts).map(([name, text]) => `== ${name}\n${text}\n`)
    writeFileSync(path, parts.join('\n'))
  }
  const parts = readFileSync(path, 'utf8').split(/^== /m).slice(1)
  return Object.fromEntries(
    parts.map((part) => {
      const [name, ...lines] = part.trimEnd().split('\n')
      return [name!, lines.join('\n')]
    }),
  )
}
