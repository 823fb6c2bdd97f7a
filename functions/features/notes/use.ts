import { type Access, describeAccess, toDecider } from '../../core/rules/access.ts'
import type { EventKey } from '../../store/store.ts'
import { commitEvent } from '../../use-cases/commit-event.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { withOwnerNote } from './rule.ts'

/** `text`: empty to remove the note. `busy`: others changed the event at the same time, again and again. */
export async function noteEvent(
  relay: Relay,
  access: Access,
  key: EventKey,
  text: string,
): Promise<'noted' | 'busy'> {
  const by = toDecider(access)
  const { outcome } = await commitEvent(relay, key, {
    decide: (record, now) => ({
      record: record && withOwnerNote(record, text, by, now),
      moments: [],
    }),
  })
  if (outcome === 'busy') return 'busy'
  relay.log.info('owner_note_written', { ...key, by: describeAccess(access) })
  return 'noted'
}
