// `foghorn-beacon check`: looks at everything that a beacon needs, and says how to fix problems. It
// disturbs nothing: it opens no file of the state folder, and the relay stores nothing.

import { accessSync, constants, existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { messageOf } from '../../shared/errors.ts'
import type { Log } from '../../shared/log.ts'
import { freeSpaceOn, hasSpace, spoolFileName } from '../database.ts'
import { checkHooks } from '../hooks/check.ts'
import { type CheckParts, type Finding, fix, ok } from './finding.ts'
import { checkImds, describeVm } from './imds.ts'
import { checkRelay } from './relay.ts'

/** For the parts that log. Their failures are findings. */
export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }

/** Prints each finding as soon as it is known. Whether all is well. */
export async function check(parts: CheckParts): Promise<boolean> {
  const { settings, print } = parts
  const signal = new AbortController().signal
  print(`Asking IMDS at ${settings.imdsUrl}. Its first answer to a VM may take two minutes.`)
  const identity = parts.imds.identify(signal)
  const checks: (() => Promise<Finding[]> | Finding[])[] = [
    () => checkImds(parts, signal),
    async () => describeVm(await identity),
    async () => checkRelay(parts, await identity, signal),
    () => checkStateFolder(settings.stateDirectory),
    async () => [await hooksFinding(settings.hooks)],
  ]
  let isWell = true
  for (const findings of checks) {
    for (const { verdict, about, text } of await findings()) {
      print(`${verdict.padEnd(4)}  ${about.padEnd(10)}  ${text}`)
      if (verdict === 'fix') isWell = false
    }
  }
  return isWell
}

async function hooksFinding(hooks: CheckParts['settings']['hooks']): Promise<Finding> {
  const found = await checkHooks(hooks)
  return found.ok ? ok('hooks', found.says) : fix('hooks', found.says)
}

export function checkStateFolder(directory: string): Finding[] {
  const folder = resolve(directory)
  const remedy = 'set FOGHORN_STATE_DIR to a folder that the beacon may write to'
  try {
    const existing = nearest(folder)
    if (!statSync(existing).isDirectory()) {
      return [fix('state', `${existing} is not a folder; ${remedy}`)]
    }
    accessSync(existing, constants.W_OK | constants.X_OK)
    const file = join(folder, spoolFileName)
    if (existsSync(file)) accessSync(file, constants.R_OK | constants.W_OK)
    if (!hasSpace(existing)) return [fix('state', `the disk is full; ${freeSpaceOn(existing)}`)]
    const what = existing === folder ? 'can be written' : 'will be created'
    return [ok('state', `${folder} ${what}`)]
  } catch (error) {
    return [fix('state', `${folder} cannot be used (${messageOf(error)}); ${remedy}`)]
  }
}

/** The folder, or the nearest one above it that exists. */
function nearest(folder: string): string {
  return existsSync(folder) || dirname(folder) === folder ? folder : nearest(dirname(folder))
}
