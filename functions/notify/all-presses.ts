// Reads presses of all services whose messages have buttons.
import type { Hmac } from '../../shared/signature.ts'
import type { Presses } from './presses.ts'
import { createSlackPresses } from './slack/presses.ts'
import { teamsPresses } from './teams/presses.ts'

export function createPresses(hmac: Hmac): Presses {
  return { slack: createSlackPresses(hmac), teams: teamsPresses }
}
