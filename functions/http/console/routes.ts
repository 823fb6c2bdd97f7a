// The addresses of the console, below its own path. The page without actions is here: the open events on a line
// of time (`/upcoming`).

import type { Context } from 'hono'
import * as z from 'zod'
import { buildLanes } from '../../core/event/upcoming.ts'
import { absentReaders, channelSections, consoleParts, nowParts } from '../../features/faces.ts'
import { reaches, reachFor, upcomingBody } from '../../pages/console/upcoming.ts'
import { listChoices } from '../../schema/checks.ts'
import type { Relay } from '../../use-cases/relay.ts'
import { readQuery } from '../query.ts'
import type { Doors } from '../route.ts'
import { answerPage, buildBase, wrongAddress } from './answer.ts'
import { showBeacons } from './beacons.ts'
import { showChannel, showChannels } from './channels.ts'
import { decideEventPage, download, showEvent, showHistory } from './history.ts'
import { decideNow, describeHealth, showNow } from './now.ts'
import { chosenBy, openQuery } from './open-filter.ts'
import type { Show } from './part.ts'
import { replay, replayAll, sendTest } from './send.ts'
import { createSnapshots, type Snapshots } from './snapshot.ts'
import type { Visitor } from './visitor.ts'

interface Routes {
  gets: Record<string, Show>
  /** These pass their doors themselves: a decision waits for no list. */
  decisions: Record<string, Show>
  posts: Record<string, Show>
}

export function consoleRoutes(relay: Relay, doors: Doors): Routes {
  const snapshots = createSnapshots(relay, { readParts: nowParts, absentReaders })
  const parts = consoleParts.map((part) => part(relay, snapshots))
  const event = '/events/:fleet/:eventId'
  return {
    gets: {
      '/': (c, visitor) => showNow(relay, snapshots, c, visitor),
      '/upcoming': (c, visitor) => showUpcoming(relay, snapshots, c, visitor),
      '/events': (c, visitor) => showHistory(relay, c, visitor),
      '/events.csv': (c, visitor) => download(relay, c, visitor, 'csv'),
      '/events.json': (c, visitor) => download(relay, c, visitor, 'json'),
      [event]: (c, visitor) => showEvent(relay, c, visitor),
      '/beacons': (c, visitor) => showBeacons(relay, absentReaders, c, visitor),
      '/channels': (c, visitor) => showChannels(relay, channelSections, c, visitor),
      '/channels/:name': (c, visitor) => showChannel(relay, c, visitor),
      ...Object.assign({}, ...parts.map(({ gets }) => gets)),
    },
    decisions: {
      '/': (c, visitor) => decideNow(relay, snapshots, doors, c, visitor),
      [event]: (c, visitor) => decideEventPage(relay, snapshots, doors.eventDoor, c, visitor),
    },
    posts: {
      '/replay': (c, visitor) => replay(relay, c, visitor),
      '/replay-all': (c, visitor) => replayAll(relay, c, visitor),
      '/test': (c, visitor) => sendTest(relay, c, visitor),
      ...Object.assign({}, ...parts.map(({ posts }) => posts)),
    },
  }
}

const refreshSeconds = 15

const upcomingQuery = z.strictObject({
  ...openQuery,
  hours: listChoices(['1', '6', '24', '72', '168']).optional(),
})

async function showUpcoming(
  relay: Relay,
  snapshots: Snapshots,
  c: Context,
  visitor: Visitor,
): Promise<Response> {
  const read = readQuery(c, upcomingQuery)
  if ('refusal' in read) return wrongAddress(relay, c, visitor, read.refusal)
  const chosen = chosenBy(read.query, visitor.fleets)
  if ('refusal' in chosen) return wrongAddress(relay, c, visitor, chosen.refusal)
  const { fleets, filter } = chosen
  const snapshot = await snapshots.read(fleets, filter)
  const { records, deliveries, more } = snapshot
  const now = relay.now()
  const lanes = buildLanes(records, deliveries.flat(), now)
  const asked = reaches.find((hours) => String(hours) === read.query.hours)
  const view = {
    base: buildBase(relay),
    lanes,
    more,
    health: describeHealth(relay, visitor, snapshot),
    filter: { ...filter, fleets: visitor.fleets },
    reach: asked ?? reachFor(lanes, now),
    ...(asked === undefined ? {} : { asked }),
  }
  const body = upcomingBody(view, now)
  return answerPage(relay, c, visitor, { title: 'Upcoming', tab: 'upcoming', body, refreshSeconds })
}
