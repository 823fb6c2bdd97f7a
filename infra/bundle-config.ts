// Chooses the configuration that `npm run bundle` packs, and refuses it if it must not be deployed.
// Checks it as check-config does, and also for mistakes of a deployment. If a variable of an
// "env:NAME" is not set here, its value is assumed to be valid.
import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { check } from '../functions/cli/check-config.ts'
import { flag, type Given, type Io, text, wrong } from '../functions/cli/command.ts'
import { isLoopback } from '../functions/schema/checks.ts'

export const bundleOptions = { config: text, 'without-config': flag, local: flag } as const

interface Choice {
  folder: string
  /** Undefined: no configuration is packed. */
  config: string | undefined
  /** The bundle is only for this machine. */
  isLocal: boolean
}

/** Paths from `root`. Throws FoghornError `arguments_wrong`. */
export function choiceOf(
  values: Given<typeof bundleOptions>['options'],
  folder: string,
  environment: NodeJS.ProcessEnv,
  root: string,
): Choice {
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

/** Prints what check-config does. Throws FoghornError if the configuration must not be deployed. */
export function checkPacked(file: string, isLocal: boolean, io: Io): void {
  const { publicUrl } = check(file, true, io)
  if (isLoopback(publicUrl) && !isLocal) {
    const remedy =
      'Write the address of the function app: the output appUrl of the deployment. To try the bundle on this ' +
      'machine, add --local.'
    const what = `publicUrl "${publicUrl}" is loopback, so this is a test configuration`
    throw wrong(`${file}: ${what}. ${remedy}`)
  }
  io.print(`Links in messages lead to ${publicUrl}`)
}
