// `npm run schema`: writes the configuration's schema for editors. A test holds the file up to date.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { editorSchema } from '../functions/config/editor-schema.ts'

const file = 'config.schema.json'
writeFileSync(join(import.meta.dirname, file), `${JSON.stringify(editorSchema(), null, 2)}\n`)
process.stdout.write(`infra/${file}\n`)
