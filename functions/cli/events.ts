// `foghorn events`: the open events of a relay as a table, or the last ones. `foghorn approve` and `foghorn leave`
// decide one of them, as the buttons of its page do.
import { escapeUnseen, visible } from '../../shared/presentable.ts'
import { cut } from '../../shared/text.ts'
import type { PublicEvent } from '../core/event/public-view.ts'
import { remaining, span } from '../core/event/time.ts'
import { chooseWait, nameState, type stateWords } from '../core/event/words.ts'
import { command, exitCodes, flag, type Io, text, wrong } from './command.ts'
import { textTable } from './layout.ts'
import { askRelay, credentialIn, describeRefusal, localRelayUrl } from './relay.ts'

const pageSize = 200
/** What is over is looked for in so many pages of all events. */
const maxPages = 10
const usualPast = 20
const maxNames = 40
/** A shorter beginning of an id may be that of another event tomorrow. */
const leastOfId = 6

const where = `
Environment: FOGHORN_TOKEN is a token with the scope "SCOPE", or FOGHORN_ADMIN_KEY the admin key;
FOGHORN_URL is the address of the relay. Without it, it is the relay of this machine on PORT (7071).`

export const events = command({
  usage: '[--fleet NAME] [--past] [--json]',
  about: `
Lists the open events of a relay, the most urgent first: the time left, what Azure does to which
VMs, the state, and the id that approve and leave take.

  --fleet NAME     only events of this fleet
  --past           the last ${usualPast} events that are over, the newest first
  --json           print each event as one line of JSON, as the API shows it
${where.replace('SCOPE', 'read')}

Exit codes: 0 if the relay answered, 2 if an option or a setting is wrong, otherwise 1.`,
  options: { fleet: text, past: flag, json: flag },
  async run({ options: { fleet, past, json }, io }) {
    const shown = past ? await listPast(io, fleet) : (await listOpen(io, fleet)).sort(byTime)
    if (json) for (const one of shown) io.print(escapeUnseen(JSON.stringify(one)))
    else if (shown.length === 0) io.print(past ? 'No event is over.' : 'No event is open.')
    else
      for (const line of textTable(
        heads,
        shown.map((one) => toRow(one, io)),
      ))
        io.print(line)
  },
})

export const approve = decider({
  decision: 'approve',
  about: `
Approves an event: Azure starts it now, for all its VMs. Nobody can undo this.`,
  question: (event) =>
    `${describeDoubts(event)}Start the ${describeEvent(event)} now? You cannot undo this.`,
  done: ({ drill, unheard }) => {
    if (drill) return 'Approved. The drill starts in a moment.'
    return unheard === undefined
      ? 'Approved. Azure is told, usually within seconds.'
      : 'Approved. Azure is told once a VM that sees it reports.'
  },
})

export const leave = decider({
  decision: 'not_now',
  about: `
Leaves an event to Azure: no more reminders come, and Azure starts it at its time. You can still
approve it until then.`,
  question: (event) => `Leave the ${describeEvent(event)} to Azure?`,
  done: () => 'Left to Azure. No more reminders come.',
})

interface Deciding {
  decision: 'approve' | 'not_now'
  about: string
  question(event: PublicEvent): string
  done: (event: PublicEvent) => string
}

function decider({ decision, about, question, done }: Deciding) {
  return command({
    usage: 'EVENT [--reason TEXT] [--fleet NAME] [--yes]',
    about: `${about}

EVENT is the id of an open event, at least ${leastOfId} characters of its beginning, or the name of
an affected VM: "events" lists them.

  --reason TEXT    people read it with the decision
  --fleet NAME     the fleet of the event, if several have such an event
  --yes            do not ask again
${where.replace('SCOPE', 'decide')}

Exit codes: 0 if it is decided, 2 if a word or a setting is wrong, otherwise 1.`,
    options: { reason: text, fleet: text, yes: flag },
    words: { least: 1, most: 1 },
    async run({ options: { reason, fleet, yes }, words: [name = ''], io }) {
      const chosen = chosenBy(name, await listMeant(io, name, fleet))
      const path = buildPath(chosen)
      const read = await request(io, path)
      const event = (await read.json()) as PublicEvent
      if (!yes && !(await isConfirmed(io, question(event)))) {
        io.print('Nothing was decided.')
        return exitCodes.broken
      }
      // while a person reads the question, the event may become another one
      const ifMatch = read.headers.get('etag') ?? ''
      const body = { decision, ...(reason && { reason }) }
      await request(io, `${path}/decision`, { body, ...(ifMatch && { ifMatch }) })
      io.print(io.paint('ok', `${visible(describeEvent(event))}: ${done(event)}`))
      return exitCodes.fine
    },
  })
}

/** Only a person at a terminal is asked. */
async function isConfirmed({ ask }: Io, question: string): Promise<boolean> {
  if (ask === undefined) throw wrong('nobody can be asked here; write --yes to decide at once')
  return /^y(es)?$/i.test((await ask(`${visible(question)} [y/N] `)).trim())
}

/** People must read this before they approve. Empty if nothing is unusual. */
export function describeDoubts({ unheard, readiness }: PublicEvent): string {
  const counts = Object.entries(readiness?.counts ?? {})
  const isUnready = counts.some(([state, count]) => state !== 'ready' && count > 0)
  const doubts = [
    ...(isUnready ? ['Not every VM is ready.'] : []),
    ...(unheard === undefined
      ? []
      : [`No VM that sees it has reported since ${unheard.since}: Azure is told once one does.`]),
  ]
  return doubts.map((doubt) => `${doubt} `).join('')
}

/** The one event that the word means. */
export function chosenBy(name: string, open: PublicEvent[]): PublicEvent {
  const wanted = name.toLowerCase()
  const exact = open.filter(({ eventId }) => eventId === wanted)
  const meant = open.filter(
    ({ eventId, resources }) =>
      (wanted.length >= leastOfId && eventId.startsWith(wanted)) ||
      resources.some((vm) => vm.toLowerCase() === wanted),
  )
  const found = exact.length > 0 ? exact : meant
  const [event] = found
  if (event === undefined) throw wrong(`no open event is called "${name}"; "events" lists all`)
  if (found.length === 1) return event
  const all = found.map((one) => `${one.fleet} ${one.eventId}`).join(', ')
  throw wrong(`"${name}" may be ${all}; write the whole id, or --fleet`)
}

interface Page {
  events: PublicEvent[]
  more: boolean
  cursor?: string
}

async function listOpen(io: Io, fleet: string | undefined): Promise<PublicEvent[]> {
  const { events, more } = await readPage(io, fleet, { open: 'true' })
  if (more) io.note(`More events are open than these ${events.length}, the most urgent ones.`)
  return events
}

/** The open events that the word may mean, also behind the end of the list. */
async function listMeant(io: Io, name: string, fleet: string | undefined): Promise<PublicEvent[]> {
  const { events, more } = await readPage(io, fleet, { open: 'true' })
  if (!more) return events
  const { events: ofVm } = await readPage(io, fleet, { open: 'true', vm: name })
  const known = events.some(({ eventId }) => eventId === name.toLowerCase())
  const whole = known || fleet === undefined ? [] : await readWhole(io, fleet, name)
  const all = [...events, ...ofVm, ...whole].map((one): [string, PublicEvent] => [
    `${one.fleet} ${one.eventId}`,
    one,
  ])
  return [...new Map(all).values()]
}

/** The event with this id, if it is open. */
async function readWhole(io: Io, fleet: string, id: string): Promise<PublicEvent[]> {
  const answer = await request(io, buildPath({ fleet, eventId: id }), {}, [200, 404])
  return answer.status === 404 ? [] : [(await answer.json()) as PublicEvent].filter(isOpen)
}

function buildPath({ fleet, eventId }: Pick<PublicEvent, 'fleet' | 'eventId'>): string {
  return `/v1/events/${encodeURIComponent(fleet)}/${encodeURIComponent(eventId)}`
}

async function listPast(io: Io, fleet: string | undefined): Promise<PublicEvent[]> {
  const found: PublicEvent[] = []
  let cursor: string | undefined
  for (let page = 0; page < maxPages && found.length < usualPast; page++) {
    const read = await readPage(io, fleet, { ...(cursor !== undefined && { cursor }) })
    found.push(...read.events.filter((one) => !isOpen(one)))
    cursor = read.cursor
    if (cursor === undefined) break
  }
  return found.slice(0, usualPast)
}

async function readPage(
  io: Io,
  fleet: string | undefined,
  more: Record<string, string>,
): Promise<Page> {
  const query = new URLSearchParams({
    ...{ limit: String(pageSize), ...more },
    ...(fleet !== undefined && { fleet }),
  })
  return (await (await request(io, `/v1/events?${query}`)).json()) as Page
}

async function request(
  { environment }: Io,
  path: string,
  sent: { body?: object; ifMatch?: string } = {},
  expected = [200],
) {
  const url = localRelayUrl(environment)
  const answer = await askRelay(url, path, { credential: credentialIn(environment), ...sent })
  if (!expected.includes(answer.status)) throw await describeRefusal(url, answer)
  return answer
}

function byTime(one: PublicEvent, other: PublicEvent): number {
  return dueAt(one) - dueAt(other)
}

function isOpen({ endedAt }: PublicEvent): boolean {
  return endedAt === undefined
}

function dueAt({ notBefore, startedAt }: PublicEvent): number {
  return startedAt !== undefined || notBefore === undefined
    ? Number.MAX_SAFE_INTEGER
    : Date.parse(notBefore)
}

const heads = ['TIME', 'FLEET', 'EVENT', 'STATE', 'ID']

function toRow(event: PublicEvent, io: Io): string[] {
  const { fleet, eventId } = event
  const state = describeState(event)
  const cells = [describeTime(event), fleet, describeEvent(event), state, eventId].map(visible)
  return cells.with(3, isForPeople(chooseState(event)) ? io.paint('warning', state) : state)
}

function describeEvent({ drill, eventType, resources, resourcesTotal }: PublicEvent): string {
  const count = resourcesTotal ?? resources.length
  const more = count > 1 ? ` and ${count - 1} more` : ''
  return `${drill ? 'DRILL: ' : ''}${eventType} of ${cut(resources[0] ?? 'unnamed VMs', maxNames)}${more}`
}

function describeTime({ notBefore, startedAt, endedAt }: PublicEvent): string {
  const now = Date.now()
  const since = endedAt ?? startedAt
  if (since !== undefined) return `${span(Math.max(0, now - Date.parse(since)))} ago`
  if (notBefore === undefined) return 'no time given'
  const leftMs = Date.parse(notBefore) - now
  return leftMs > 0 ? `in ${remaining(leftMs)}` : 'due'
}

function describeState(event: PublicEvent): string {
  const state = chooseState(event)
  const word = nameState(state)
  if (state === 'approved' && event.azureAccepted) return `${word}, Azure told`
  return isForPeople(state) && event.unheard !== undefined ? `${word}, silent` : word
}

const isForPeople = (state: keyof typeof stateWords) => state === 'ask' || state === 'stuck'

function chooseState(event: PublicEvent) {
  const { outcome, phase, approvals, policy, stuckSince } = event
  if (outcome !== undefined) return outcome
  if (phase === 'started') return phase
  if (stuckSince !== undefined) return 'stuck'
  const last = approvals.findLast(({ expiredAt }) => expiredAt === undefined)
  if (last !== undefined) return last.decision
  // at its NotBefore, Azure may start it at any moment
  const isAhead = event.notBefore === undefined || Date.parse(event.notBefore) > Date.now()
  return chooseWait(event, policy.decide, policy.decide === 'ask' && isAhead)
}
