// `npm run preview [-- FILE]`: writes the page with every message.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { command } from '../../functions/cli/command.ts'
import { previewPage } from './page.ts'

export const preview = command({
  usage: '[FILE]',
  about: `
Writes one page with every message that Foghorn sends, as each channel shows it, into FILE (default:
dist/preview.html). Open it in a browser.`,
  words: { least: 0, most: 1 },
  async run({ words: [file = 'dist/preview.html'], io }) {
    const path = resolve(file)
    mkdirSync(dirname(path), { recursive: true })
    writeFileSync(path, await previewPage())
    io.print(path)
  },
})
