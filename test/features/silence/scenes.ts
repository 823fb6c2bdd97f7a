// Messages about beacons that do not report.
import type { Outgoing } from '../../../functions/notify/notifier.ts'
import { problem } from '../problems/scenes.ts'

function webs(count: number): string[] {
  return Array.from({ length: count }, (_, i) => `web_${i}`)
}

export const silenceScenes: Record<string, Outgoing> = {
  'a beacon is silent': problem('beacons_silent', ['web_3'], { of: 40 }),
  'many beacons are silent': problem('beacons_silent', webs(12), { of: 40 }),
  'all beacons are silent': problem('beacons_silent', webs(3), { of: 3 }),
  'some beacons are back': problem('beacons_silent', webs(12), { back: webs(11) }),
  'the last beacon is back, and one has left': problem('beacons_silent', webs(2), {
    ...{ back: ['web_0'], left: ['web_1'] },
  }),
  'expected beacons are missing': problem('beacons_missing', ['db_0', 'db_1'], { of: 40 }),
  'a number of beacons is missing': problem('beacons_missing', [''], { of: 40 }),
  'a missing beacon reports': problem('beacons_missing', ['db_0'], { of: 40, back: ['db_0'] }),
}
