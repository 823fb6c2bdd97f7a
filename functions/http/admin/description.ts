// The routes for admins, described.

import { publicEventSchema } from '../../schema/event.ts'
import { pageQuery } from '../../use-cases/list-events.ts'
import { drillSchema } from '../../use-cases/run-drill.ts'
import type { RouteDescription } from '../description.ts'
import {
  beaconAnswer,
  beaconsAnswer,
  channelsAnswer,
  channelTestAnswer,
  drillAnswer,
  eventAnswer,
  eventsAnswer,
  newTokenAnswer,
  replayAnswer,
  streamAnswer,
  tokenAnswer,
  tokensAnswer,
} from './answers.ts'
import { decisionSchema, maxBodyBytes, maxDrillBytes, replaySchema } from './api.ts'
import { beaconsQuery } from './beacons.ts'
import { streamQuery } from './stream.ts'
import { maxTokenBytes, tokenSchema } from './tokens.ts'

const events = { group: 'Events', caller: 'admin' } as const
const beacons = { group: 'Beacons', caller: 'admin' } as const
const channels = { group: 'Channels', caller: 'admin' } as const
const tokens = { group: 'Tokens', caller: 'admin' } as const
const oneToken = { ...tokens, path: '/v1/tokens/{id}', params: { id: 'Its id from the list.' } }

export const adminDescriptions: RouteDescription[] = [
  {
    ...events,
    method: 'get',
    path: '/v1/events',
    name: 'listEvents',
    summary: 'Lists events, newest first.',
    query: pageQuery,
    answers: { 200: { about: 'One page.', schema: eventsAnswer } },
  },
  {
    ...events,
    method: 'get',
    path: '/v1/events/stream',
    name: 'followEvents',
    summary: 'Follows every step of every event: server-sent events or, with `wait`, a long poll.',
    about:
      'Without `wait`, the answer is `text/event-stream`: `id` is the cursor, `data` a CloudEvent. ' +
      'The header `Last-Event-ID` counts before `after`.',
    query: streamQuery,
    answers: { 200: { about: 'With `wait`: the next steps.', schema: streamAnswer } },
    problems: [404, 406, 409, 429],
  },
  {
    ...events,
    method: 'get',
    path: '/v1/events/{fleet}/{eventId}',
    name: 'getEvent',
    summary: 'Reads one event, with its history, its deliveries and the VMs that saw it.',
    answers: { 200: { about: 'The event.', schema: eventAnswer } },
    problems: [404],
  },
  {
    ...events,
    method: 'post',
    path: '/v1/events/{fleet}/{eventId}/decision',
    name: 'decideEvent',
    summary: 'Decides an event: approve or not now.',
    about: 'The history records `admin`, or the token.',
    body: { schema: decisionSchema, maxBytes: maxBodyBytes },
    answers: { 200: { about: 'The event, decided.', schema: publicEventSchema } },
    problems: [404, 409, 503],
  },
  {
    ...beacons,
    method: 'get',
    path: '/v1/beacons',
    name: 'listBeacons',
    summary: 'Lists the beacons of one fleet, and the VMs that never reported.',
    query: beaconsQuery,
    answers: { 200: { about: 'One page.', schema: beaconsAnswer } },
    problems: [404],
  },
  {
    ...beacons,
    method: 'delete',
    path: '/v1/beacons/{fleet}/{beacon}',
    name: 'dismissBeacon',
    summary: 'Marks a beacon as left. If it reports again, it is heard again.',
    params: { beacon: 'Its id from the list, percent-encoded.' },
    answers: { 200: { about: 'The beacon.', schema: beaconAnswer } },
    problems: [404, 503],
  },
  {
    ...channels,
    method: 'get',
    path: '/v1/channels',
    name: 'listChannels',
    summary: 'Lists the configured channels and their health.',
    answers: { 200: { about: 'All channels.', schema: channelsAnswer } },
  },
  {
    ...channels,
    method: 'post',
    path: '/v1/channels/{name}/test',
    name: 'testChannel',
    summary: 'Sends a test message to a channel.',
    about:
      'The message says that it is a test. PagerDuty opens an incident and resolves it at once. ' +
      'A channel gets one test in 10 s.',
    params: { name: 'Its name in the configuration.' },
    answers: { 202: { about: 'The message, which is on its way.', schema: channelTestAnswer } },
    problems: [404, 429],
  },
  {
    ...channels,
    method: 'post',
    path: '/v1/deliveries/replay',
    name: 'replayDeliveries',
    summary: 'Sends messages again that were refused or given up: one, or all since a time.',
    about: 'At most 1,000 at once.',
    body: { schema: replaySchema, maxBytes: maxBodyBytes },
    answers: { 200: { about: 'How many are sent again.', schema: replayAnswer } },
  },
  {
    group: 'Drills',
    caller: 'admin',
    method: 'post',
    path: '/v1/drills',
    name: 'startDrill',
    summary: 'Starts a drill: an event of the relay’s own, with your rules and real channels.',
    about:
      '`changeAfterSeconds` must be less than `noticeSeconds`. A fleet has at most three open drills.',
    body: { schema: drillSchema, maxBytes: maxDrillBytes },
    answers: { 201: { about: 'The drill, as an event.', schema: drillAnswer } },
    problems: [404, 429, 503],
  },
  {
    ...tokens,
    method: 'get',
    path: '/v1/tokens',
    name: 'listTokens',
    summary: 'Lists tokens, the newest first.',
    answers: { 200: { about: 'All that the sender may see.', schema: tokensAnswer } },
  },
  {
    ...tokens,
    method: 'post',
    path: '/v1/tokens',
    name: 'createToken',
    summary: 'Makes a token that may do no more than its maker.',
    about: 'The scope `calendar` opens `/calendar.ics`. A token that has it has no other scope.',
    body: { schema: tokenSchema, maxBytes: maxTokenBytes },
    answers: { 201: { about: 'The token, with its text.', schema: newTokenAnswer } },
    problems: [404, 409],
  },
  {
    ...oneToken,
    method: 'get',
    name: 'getToken',
    summary: 'Reads one token, without its text.',
    answers: { 200: { about: 'The token.', schema: tokenAnswer } },
    problems: [404],
  },
  {
    ...oneToken,
    method: 'delete',
    name: 'revokeToken',
    summary: 'Revokes a token at once.',
    answers: { 204: { about: 'It is revoked.' } },
    problems: [404],
  },
]
