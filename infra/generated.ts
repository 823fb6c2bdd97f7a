// The files in the repository that are generated from others. A test fails if one is out of date.
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { buildSync } from 'esbuild'
import { editorSchema } from '../functions/config/editor-schema.ts'
import { openapi } from '../functions/http/openapi.ts'
import { routes } from '../functions/http/routes.ts'
import { alertSchema, eventSchema } from '../functions/schema/json-schema.ts'
import { filledDocuments } from './reference.ts'

export const root = join(import.meta.dirname, '..')

interface Generated {
  /** The path from the top of the repository, with slashes. */
  path: string
  content: () => string
}

/** The public address of the relay, in files that a relay also serves. */
const exampleUrl = 'https://foghorn.example.com'

function json(value: object): string {
  return `${JSON.stringify(value, null, 2)}\n`
}

export function generated(): Generated[] {
  const documents = Object.entries(filledDocuments())
  return [
    {
      path: 'infra/config.schema.json',
      content: () => json(editorSchema()),
    },
    { path: 'infra/event.schema.json', content: () => json(eventSchema(exampleUrl)) },
    { path: 'infra/alert.schema.json', content: () => json(alertSchema(exampleUrl)) },
    { path: 'infra/openapi.json', content: () => json(openapi(routes, exampleUrl)) },
    { path: 'functions/pages/browser/embedded.ts', content: embeddedProgram },
    ...documents.map(([path, text]) => ({ path, content: () => text })),
  ]
}

/** The paths of the files that are missing or out of date. */
export function outdated(): string[] {
  const isCurrent = ({ path, content }: Generated) => {
    const file = join(root, path)
    // git may have checked it out with Windows line ends
    return existsSync(file) && readFileSync(file, 'utf8').replaceAll('\r\n', '\n') === content()
  }
  return generated()
    .filter((one) => !isCurrent(one))
    .map(({ path }) => path)
}

function embeddedProgram(): string {
  const program = compile('functions/pages/browser/live.ts')
  const hash = createHash('sha256').update(program).digest('base64')
  const escaped = program.replace(/[\\`]|\$\{/g, '\\$&')
  return [
    '// Generated from live.ts by `npm run generate`: do not edit.',
    '',
    '/** The program of an open page. */',
    `export const liveScript = \`${escaped}\``,
    '',
    '/** SHA-256 of the text in base64, for the policy that lets a page run it. */',
    `export const liveScriptHash = '${hash}'`,
    '',
  ].join('\n')
}

/** One script, for the oldest browsers that support the requests it makes. */
function compile(entry: string): string {
  const { outputFiles } = buildSync({
    absWorkingDir: root,
    entryPoints: [entry],
    bundle: true,
    write: false,
    format: 'iife',
    target: 'es2019',
    charset: 'utf8',
    minify: true,
    // the settings of tsconfig.json must not change the text
    tsconfigRaw: {},
  })
  return outputFiles[0]!.text.trimEnd()
}
