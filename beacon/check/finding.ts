// What the parts of the check share: what they look at, and what they find.
import type { Clock } from '../clock.ts'
import type { Imds } from '../imds.ts'
import type { RelayClient } from '../relay-client.ts'
import type { Settings } from '../settings.ts'

export interface CheckParts {
  settings: Pick<Settings, 'relayUrl' | 'imdsUrl' | 'stateDirectory' | 'hooks'>
  imds: Pick<Imds, 'poll' | 'identify'>
  client: Pick<RelayClient, 'post'>
  clock: Clock
  /** Gets one line of the output. */
  print(line: string): void
}

/** One line of the output. */
export interface Finding {
  /** `skip`: not known, because of another finding. */
  verdict: 'ok' | 'fix' | 'skip'
  about: string
  /** With `fix`: what is wrong, and what to do. */
  text: string
}

export const ok = (about: string, text: string): Finding => ({ verdict: 'ok', about, text })
export const fix = (about: string, text: string): Finding => ({ verdict: 'fix', about, text })
export const skip = (about: string, text: string): Finding => ({ verdict: 'skip', about, text })
