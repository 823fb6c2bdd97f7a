// The routes for beacons, described.
import { checkAnswerSchema, checkPath, checkSchema, maxCheckBytes } from '../../../shared/check.ts'
import { answerSchema, maxReportBytes, reportPath, reportSchema } from '../../../shared/report.ts'
import type { RouteDescription } from '../description.ts'

export const beaconDescriptions: RouteDescription[] = [
  {
    method: 'post',
    path: reportPath,
    name: 'postReport',
    summary: 'A beacon reports what its VM sees, and receives directives.',
    about:
      'Changes since the last accepted report are included. Repeating a report changes nothing.',
    group: 'Beacons',
    caller: 'beacon',
    body: { schema: reportSchema, maxBytes: maxReportBytes },
    answers: { 200: { about: 'Stored, or seen before.', schema: answerSchema } },
    problems: [409],
  },
  {
    method: 'post',
    path: checkPath,
    name: 'checkBeacon',
    summary: 'Authenticates a beacon as a report does, and stores nothing.',
    group: 'Beacons',
    caller: 'beacon',
    body: { schema: checkSchema, maxBytes: maxCheckBytes },
    answers: { 200: { about: 'What the relay knows of the VM.', schema: checkAnswerSchema } },
  },
]
