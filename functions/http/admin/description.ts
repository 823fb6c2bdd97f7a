// The routes for admins, described.

import { publicEventSchema } from '../../schema/event.ts'
import { pageQuery } from '../../use-cases/read-events.ts'
import { drillSchema } from '../../use-cases/run-drill.ts'
import type { RouteDescription } from '../description.ts'
import {
  beaconAnswer,
  beaconsAnswer,
  channelsAnswer,
  drillAnswer,
  eventAnswer,
  eventsAnswer,
  replayAnswer,
} from './answers.ts'
import { decisionSchema, maxBodyBytes, maxDrillBytes, replaySchema } from './api.ts'
import { beaconsQuery } from './beacons.ts'

export const adminDescriptions: RouteDescription[] = [
  {
    method: 'get',
    path: '/v1/events',
    name: 'listEvents',
    summary: 'Lists events, newest first.',
    group: 'Events',
    caller: 'admin',
    query: pageQuery,
    answers: { 200: { about: 'One page.', schema: eventsAnswer } },
  },
  {
    method: 'get',
    path: '/v1/events/{fleet}/{eventId}',
    name: 'getEvent',
    summary: 'Reads one event, with its history, its deliveries and the VMs that saw it.',
    group: 'Events',
    caller: 'admin',
    answers: { 200: { about: 'The event.', schema: eventAnswer } },
    problems: [404],
  },
  {
    method: 'post',
    path: '/v1/events/{fleet}/{eventId}/decision',
    name: 'decideEvent',
    summary: 'Approves an event, or says "not now".',
    about: 'The history of the event records it as a decision of `admin`.',
    group: 'Events',
    caller: 'admin',
    body: { schema: decisionSchema, maxBytes: maxBodyBytes },
    answers: { 200: { about: 'The event, decided.', schema: publicEventSchema } },
    problems: [404, 409, 503],
  },
  {
    method: 'get',
    path: '/v1/beacons',
    name: 'listBeacons',
    summary: 'Lists the beacons of one fleet, and who is missing.',
    group: 'Beacons',
    caller: 'admin',
    query: beaconsQuery,
    answers: { 200: { about: 'One page.', schema: beaconsAnswer } },
    problems: [404],
  },
  {
    method: 'delete',
    path: '/v1/beacons/{fleet}/{beacon}',
    name: 'dismissBeacon',
    summary: 'Says that a beacon has left. If it reports again, it is heard again.',
    group: 'Beacons',
    caller: 'admin',
    params: { beacon: 'Its id from the list, percent-encoded.' },
    answers: { 200: { about: 'The beacon.', schema: beaconAnswer } },
    problems: [404, 503],
  },
  {
    method: 'get',
    path: '/v1/channels',
    name: 'listChannels',
    summary: 'Lists the configured channels and their health.',
    group: 'Channels',
    caller: 'admin',
    answers: { 200: { about: 'All channels.', schema: channelsAnswer } },
  },
  {
    method: 'post',
    path: '/v1/deliveries/replay',
    name: 'replayDeliveries',
    summary: 'Sends messages again that were refused or given up: one, or all since a time.',
    about: 'At most 1,000 at once.',
    group: 'Channels',
    caller: 'admin',
    body: { schema: replaySchema, maxBytes: maxBodyBytes },
    answers: { 200: { about: 'How many are sent again.', schema: replayAnswer } },
  },
  {
    method: 'post',
    path: '/v1/drills',
    name: 'startDrill',
    summary: 'Starts a drill: an event of the relay’s own, with your rules and real channels.',
    about:
      '`changeAfterSeconds` must be less than `noticeSeconds`. A fleet has at most three open drills.',
    group: 'Drills',
    caller: 'admin',
    body: { schema: drillSchema, maxBytes: maxDrillBytes },
    answers: { 201: { about: 'The drill, as an event.', schema: drillAnswer } },
    problems: [404, 429, 503],
  },
]
