// Chooses the configuration that `npm run bundle` packs, and refuses it if it must not be deployed.
// Checks it as check-config does, and also for mistakes of a deployment. If a variable of an
// "env:NAME" is not set here, its value is assumed to be valid.
import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseWords, wrong } from '../functions/cli/arguments.ts'
import { run } from '../functions/cli/check-config.ts'
import { readConfigWith } from '../functions/config/config.ts'
import { isLoopback } from '../functions/schema/checks.ts'
import { FoghornError } from '../shared/errors.ts'

export const help = `npm run bundle [-- FOLDER] [--config FILE | --without-config] [--local]

Writes the files to deploy into FOLDER (default: dist): the beacon, and the relay for Azure
Functions and for Cloudflare Workers.

  --config FILE      the configuration to pack (default: FOGHORN_CONFIG, or foghorn.config.json if
                     it exists)
  --without-config   pack no configuration
  --local            allow a loopback publicUrl, to try the bundle on this machine
`

const options = {
  help: { type: 'boolean', short: 'h' },
  config: { type: 'string' },
  'without-config': { type: 'boolean' },
  local: { type: 'boolean' },
} as const

interface Choice {
  folder: string
  /** Undefined: no configuration is packed. */
  config: string | undefined
  /** The bundle is only for this machine. */
  isLocal: boolean
}

/** Paths from `root`. Throws FoghornError `arguments_wrong`. */
export function readBundleWords(
  words: string[],
  environment: NodeJS.ProcessEnv,
  root: string,
): Choice | 'help' {
  const { values, positionals } = parseWords(words, options)
  if (values.help) return 'help'
  const [folder = 'dist', ...more] = positionals
  if (more.length > 0)
    throw wrong(`the command takes one folder, but "${more[0]}" follows; see --help`)
  const without = values['without-config'] === true
  if (without && values.config !== undefined) {
    throw wrong('--config and --without-config exclude each other; write one of them')
  }
  const named = values.config ?? environment.FOGHORN_CONFIG
  const file = resolve(root, named ?? 'foghorn.config.json')
  const found = existsSync(file)
  if (!without && named !== undefined && !found) {
    throw wrong(`There is no configuration at "${named}". Write its path, or --without-config.`)
  }
  const config = without || !found ? undefined : file
  return { folder: resolve(root, folder), config, isLocal: values.local === true }
}

/** The output of check-config. Throws FoghornError if the configuration must not be deployed. */
export function checkPacked(
  file: string,
  shown: string,
  environment: NodeJS.ProcessEnv,
  isLocal: boolean,
): string {
  const { code, out, err } = run([file, '--without-env'], environment)
  if (code !== 0) throw new FoghornError('config_invalid', err.replaceAll(file, shown).trimEnd())
  const { publicUrl } = readConfigWith(readFileSync(file, 'utf8'), environment, 'assumed').config
  if (isLoopback(publicUrl) && !isLocal) {
    const remedy =
      'Write the address of the function app: the output appUrl of the deployment. To try the bundle on this ' +
      'machine, add --local.'
    const what = `publicUrl "${publicUrl}" is loopback, so this is a test configuration`
    throw new FoghornError('config_local', `${shown}: ${what}. ${remedy}`)
  }
  return `${out.replaceAll(file, shown).trimEnd()}\nLinks in messages lead to ${publicUrl}`
}
