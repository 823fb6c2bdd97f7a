// What every run of the main job has to show at the end.
import { expect } from 'vitest'
import type { Received } from '../simulator/sinks.ts'
import { decideByForm } from './form.ts'
import type { Stage } from './stage.ts'

/** Of the channels of a stage. */
export type Kind = Extract<Received['kind'], 'slack' | 'teams' | 'pagerduty' | 'webhook'>
export const kinds: Kind[] = ['slack', 'teams', 'pagerduty', 'webhook']

export function accepted(stage: Stage, kind: Kind): Received[] {
  return stage.sinks.received.filter((one) => one.kind === kind && one.accepted)
}

/** The moments of the webhook channel, in order of receipt. */
function momentsTold(stage: Stage): string[] {
  return accepted(stage, 'webhook').map(({ json }) =>
    (json as { type: string }).type.replace('foghorn.event.', ''),
  )
}

/** A webhook of this moment, past or to come. */
export function told(stage: Stage, moment: string, timeoutMs = 30_000): Promise<Received> {
  return stage.sinks.waitFor(
    ({ kind, body }) => kind === 'webhook' && body.includes(`"foghorn.event.${moment}"`),
    timeoutMs,
  )
}

/** Each channel got exactly these, one incident was opened and resolved, all signatures verify. */
export async function expectExactly(stage: Stage, eventId: string, moments: string[]) {
  await stage.settledEvent(eventId)
  expect(momentsTold(stage)).toEqual(moments)
  for (const kind of kinds) expect(accepted(stage, kind), kind).toHaveLength(moments.length)
  expect(stage.sinks.received.filter(({ valid }) => valid !== true)).toEqual([])
  const incidents = [...stage.sinks.incidents().values()]
  expect(incidents.map(({ state, opened }) => ({ state, opened }))).toEqual([
    { state: 'resolved', opened: 1 },
  ])
}

/** As the page's form does. */
export function postDecision(link: string, decision = 'approve'): Promise<Response> {
  return decideByForm(fetch, link, decision)
}
