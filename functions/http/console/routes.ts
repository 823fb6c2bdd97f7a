// The addresses of the console, below its own path.
import type { Context } from 'hono'
import type { Relay } from '../../use-cases/relay.ts'
import { showBeacons } from './beacons.ts'
import { showChannel, showChannels, showSubscription } from './channels.ts'
import { decideEventPage, download, showEvent, showHistory } from './history.ts'
import { createCharts, showInsights } from './insights.ts'
import { decideNow, showNow } from './now.ts'
import { replay, replayAll, sendTest } from './send.ts'
import { createSnapshots } from './snapshot.ts'
import { showUpcoming } from './upcoming.ts'
import type { Visitor } from './visitor.ts'

type Show = (c: Context, visitor: Visitor) => Promise<Response>

interface Routes {
  gets: Record<string, Show>
  posts: Record<string, Show>
}

export function consoleRoutes(relay: Relay): Routes {
  const snapshots = createSnapshots(relay)
  const charts = createCharts(relay)
  const event = '/events/:fleet/:eventId'
  return {
    gets: {
      '/': (c, visitor) => showNow(relay, snapshots, c, visitor),
      '/upcoming': (c, visitor) => showUpcoming(relay, snapshots, c, visitor),
      '/events': (c, visitor) => showHistory(relay, c, visitor),
      '/events.csv': (c, visitor) => download(relay, c, visitor, 'csv'),
      '/events.json': (c, visitor) => download(relay, c, visitor, 'json'),
      [event]: (c, visitor) => showEvent(relay, c, visitor),
      '/beacons': (c, visitor) => showBeacons(relay, c, visitor),
      '/insights': (c, visitor) => showInsights(relay, charts, c, visitor),
      '/channels': (c, visitor) => showChannels(relay, c, visitor),
      '/channels/:name': (c, visitor) => showChannel(relay, c, visitor),
      '/subscriptions/:id': (c, visitor) => showSubscription(relay, c, visitor),
    },
    posts: {
      '/': (c, visitor) => decideNow(relay, snapshots, c, visitor),
      [event]: (c, visitor) => decideEventPage(relay, snapshots, c, visitor),
      '/replay': (c, visitor) => replay(relay, c, visitor),
      '/replay-all': (c, visitor) => replayAll(relay, c, visitor),
      '/test': (c, visitor) => sendTest(relay, c, visitor),
    },
  }
}
