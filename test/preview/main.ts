// `npm run preview [-- FILE]`: writes the page with every message, to dist/preview.html or there.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, resolve } from 'node:path'
import { previewPage } from './page.ts'

const path = resolve(process.argv[2] ?? 'dist/preview.html')
mkdirSync(dirname(path), { recursive: true })
writeFileSync(path, await previewPage())
process.stdout.write(`${path}\n`)
