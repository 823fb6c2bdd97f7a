// What the check concludes from the relay's answer, or from none.
import { expect, test } from 'vitest'
import { type Finding, relayFindings } from '../../../beacon/check.ts'
import type { Posted } from '../../../beacon/relay-client.ts'

const now = 1_000_000_000
const url = 'https://relay.example'

const answered = (status: number, body: unknown): Posted => ({
  ...{ kind: 'answered', status, headers: {} },
  text: typeof body === 'string' ? body : JSON.stringify(body),
})
const unanswered = (reason: string): Posted => ({ kind: 'unanswered', reason, stale: false })
const problem = (status: number, code: string, rest: object = {}) =>
  answered(status, { code, title: code, status, detail: `detail of ${code}`, ...rest })
const known = { fleet: 'prod', time: now, beacon: 'id-1', heardAt: now - 12_000 }

const shortly = (findings: Finding[]) =>
  findings.map(({ result, about }) => `${result} ${about}`).join(', ')
const textOf = (findings: Finding[], about: string) =>
  findings.find((one) => one.about === about)?.text

/** Nothing else can be said. */
const onlyRelay = 'fix relay, skip certificate, skip credential, skip clock, skip heard'

test.each<[string, Posted, string]>([
  [
    'all is well',
    answered(200, known),
    'ok relay, ok certificate, ok credential, ok clock, ok heard',
  ],
  [
    'no VM was named',
    answered(200, { fleet: 'prod', time: now }),
    'ok relay, ok certificate, ok credential, ok clock, skip heard',
  ],
  [
    'the credential is rejected',
    problem(401, 'signature_invalid', { time: now }),
    'ok relay, ok certificate, fix credential, ok clock, skip heard',
  ],
  [
    'a rejected token',
    problem(401, 'token_invalid'),
    'ok relay, ok certificate, fix credential, skip clock, skip heard',
  ],
  [
    'no token',
    { kind: 'unready', reason: 'no identity', retryAfterMs: 1 },
    'skip relay, skip certificate, fix credential, skip clock, skip heard',
  ],
  ['nobody listens', unanswered('ECONNREFUSED: connect'), onlyRelay],
  [
    'a certificate that expired',
    unanswered('CERT_HAS_EXPIRED: certificate has expired'),
    'ok relay, fix certificate, skip credential, skip clock, skip heard',
  ],
  [
    'an older relay',
    problem(404, 'not_found'),
    'fix relay, ok certificate, skip credential, skip clock, skip heard',
  ],
  ['a relay that fails', problem(503, 'busy'), onlyRelay],
  ['another server', answered(200, '<html>'), onlyRelay],
  ['another server without the page', answered(404, '<html>'), onlyRelay],
  ['another server with a login', answered(401, 'Log in'), onlyRelay],
])('%s', (_, posted, expected) => {
  expect(shortly(relayFindings(posted, url, now))).toBe(expected)
})

test('on this machine there is no certificate', () => {
  const findings = relayFindings(answered(200, known), 'http://127.0.0.1:7071', now)
  expect(shortly(findings)).toBe('ok relay, skip certificate, ok credential, ok clock, ok heard')
})

test.each([
  [0, 'ok', /^0\.0 s /],
  [-299_000, 'ok', /5 min ahead/],
  [90_000, 'ok', /90 s behind/],
  [301_000, 'fix', /5 min behind .* synchronization/],
  [-36_000_000, 'fix', /10 h ahead/],
])('a relay whose clock is %i ms ahead', (offsetMs, result, text) => {
  const findings = relayFindings(answered(200, { ...known, time: now + offsetMs }), url, now)
  expect(findings.find(({ about }) => about === 'clock')).toMatchObject({
    result,
    text: expect.stringMatching(text),
  })
})

test.each([
  [3_600_000, 3_590_000, 'fix', /60 min behind .* the relay's is wrong/],
  [90_000, 90_000, 'ok', /90 s behind/],
  [3_600_000, 120_000, 'fix', /60 min behind the relay's; switch on this VM's/],
  [0, 3_600_000, 'ok', /^0\.0 s /],
])('a relay that is %i ms ahead, and of most VMs %i ms', (offsetMs, relayAheadMs, result, text) => {
  const answer = { ...known, time: now + offsetMs, relayAheadMs }
  const findings = relayFindings(answered(200, answer), url, now)
  expect(findings.find(({ about }) => about === 'clock')).toMatchObject({
    result,
    text: expect.stringMatching(text),
  })
})

test('it says when the beacon was heard', () => {
  const { heardAt: _, ...never } = known
  expect(textOf(relayFindings(answered(200, known), url, now), 'heard')).toMatch(/"id-1" 12 s ago/)
  const [silent, left] = [
    { ...known, state: 'silent' },
    { ...known, state: 'left' },
  ]
  const unheard = [never, silent, left].map((answer) =>
    relayFindings(answered(200, answer), url, now),
  )
  const texts = [/not heard .* yet; start the service/, /counts it as silent/, /it was stopped/]
  for (const [i, findings] of unheard.entries()) {
    expect(shortly(findings)).toMatch(/fix heard$/)
    expect(textOf(findings, 'heard')).toMatch(texts[i]!)
  }
})

test.each([
  ['CERT_NOT_YET_VALID: certificate is not yet valid', /clock/],
  ['ERR_TLS_CERT_ALTNAME_INVALID: Hostname/IP does not match', /FOGHORN_RELAY_URL/],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE: unable to verify', /NODE_EXTRA_CA_CERTS/],
  ['SELF_SIGNED_CERT_IN_CHAIN: self-signed certificate', /NODE_EXTRA_CA_CERTS/],
  ['DEPTH_ZERO_SELF_SIGNED_CERT: self-signed certificate', /NODE_EXTRA_CA_CERTS/],
])('%s: what to do', (reason, remedy) => {
  expect(textOf(relayFindings(unanswered(reason), url, now), 'certificate')).toMatch(remedy)
})
