// The reports of beacons and the relay's answers. Both sides parse with these schemas.
import * as z from 'zod/mini'
import { readList } from './bounded.ts'
import { eventIdSchema, isSameName, limits, ownPrefixes, scheduledEventSchema } from './document.ts'

export const maxReportBytes = 256 * 1024
export const maxChanges = 1_000

/** An event may have changed since an older document. Then no beacon starts it. */
export const freshDocumentMs = 60_000

export const reportPath = '/v1/reports'
export const fleetHeader = 'x-foghorn-fleet'

const name = z.string().check(z.maxLength(limits.name))
const notOurs = (prefix: string) =>
  `ids that begin with "${prefix}" are the relay's own; send the EventId of IMDS`
/**
 * Milliseconds between an observation and the sending of the report, by the beacon's monotonic
 * clock.
 */
const longestAgeMs = 366 * 86_400_000
const ageMs = z.number().check(z.minimum(0), z.maximum(longestAgeMs))

/** An age that a report may have: a clock or a file may be far off. */
export function clampAge(ms: number): number {
  return Math.min(longestAgeMs, Math.max(0, Math.round(ms)))
}

/** Azure allows this many tags on a VM. Names and values have the same limit. */
export const tagLimits = { count: 50, text: 256 }

/** Checked by hand: thousands of bad tags must cost no more than one, and give one error. */
const tagsSchema = z
  .pipe(
    z.unknown(),
    z.transform((value, { issues }): Record<string, string> => {
      const problem = problemWith(value)
      if (problem === undefined) return value as Record<string, string>
      issues.push({ code: 'custom', message: problem, input: value })
      return z.NEVER
    }),
  )
  .check(
    z.meta({
      type: 'object',
      maxProperties: tagLimits.count,
      propertyNames: { maxLength: tagLimits.text },
      additionalProperties: { type: 'string', maxLength: tagLimits.text },
    }),
  )

function problemWith(tags: unknown): string | undefined {
  if (typeof tags !== 'object' || tags === null || Array.isArray(tags)) {
    return 'tags must be an object of names and values'
  }
  const entries = Object.entries(tags)
  if (entries.length > tagLimits.count) {
    return `at most ${tagLimits.count} tags are allowed, found ${entries.length}; send fewer`
  }
  const isText = (text: unknown) => typeof text === 'string' && text.length <= tagLimits.text
  const isRight = entries.every((entry) => entry.every(isText))
  return isRight
    ? undefined
    : `names and values of tags are texts of at most ${tagLimits.text} characters`
}

/** Who the VM is, as `/metadata/instance` says; an empty string is what IMDS sends for "none". */
export const vmSchema = z.object({
  name: name.check(z.minLength(1)),
  vmId: z._default(name, ''),
  resourceGroup: z._default(name, ''),
  subscriptionId: z._default(name, ''),
  scaleSet: z._default(name, ''),
  placementGroup: z._default(name, ''),
  location: z._default(name, ''),
  zone: z._default(name, ''),
  tags: z._default(tagsSchema, {}),
})
export type Vm = z.infer<typeof vmSchema>

/** One step that a beacon saw between two documents. */
export const changeSchema = z.object({
  /** `appeared` in a document, `changed` a value or its status, or is `gone` from it. */
  kind: z.enum(['appeared', 'changed', 'gone']),
  ageMs,
  /** For `gone`: age of the last poll that still showed the event. */
  lastSeenAgeMs: z.optional(ageMs),
  /** For `appeared`: no poll of this boot in the last seconds could have shown it. */
  firstPoll: z._default(z.boolean(), false),
  event: scheduledEventSchema,
})
export type Change = z.infer<typeof changeSchema>

/** The outcome of a directive. */
export const startSchema = z.object({
  eventId: scheduledEventSchema.shape.eventId,
  ageMs,
  /**
   * `accepted`: Azure answered 200. `rejected`: another status. `unreachable`: no answer. The
   * beacon did not ask Azure: `not_scheduled`; or `not_as_approved`, if the document shows another
   * type, source or duration, or further VMs, or does not show what was approved, or if this VM is
   * not as the rule read it.
   */
  outcome: z.enum(['accepted', 'rejected', 'unreachable', 'not_scheduled', 'not_as_approved']),
  /** HTTP status of IMDS, if it answered. */
  status: z.optional(z.int()),
})
export type Start = z.infer<typeof startSchema>

/** A program of the VM's owner that prepares the VM for an event, or restores it afterwards. */
export const hookSchema = z.enum(['prepare', 'restore'])
export type Hook = z.infer<typeof hookSchema>

/** A hook's last line of output, or why it did not run or succeed. */
export const maxHookNote = 300

/** What a node of Kubernetes runs, as `NAMESPACE/NAME` of the controller. */
export const maxWorkloads = 20

/** One run of a hook for one event that hits this VM. */
export const hookRunSchema = z.object({
  eventId: eventIdSchema,
  hook: hookSchema,
  /**
   * `planned`: the beacon will run it, or waits for its turn. `failed`: it exited with another code
   * than 0, or was killed at its limit. `refused`: the runner does not run this file.
   */
  state: z.enum(['planned', 'running', 'succeeded', 'failed', 'refused']),
  /** Time since the state began. */
  ageMs,
  /** Only for `failed`, and absent if the hook was killed. */
  exitCode: z.optional(z.int()),
  note: z.optional(z.string().check(z.maxLength(maxHookNote))),
  /** The type of the event when the hook last began. Absent if the hook has not begun. */
  eventType: z.optional(name),
})
export type HookRun = z.infer<typeof hookRunSchema>

/** Why a beacon stops. `removed`: its package was removed. `stopped`: no more is known. */
export const goodbyes = ['stopped', 'shutdown', 'upgrade', 'removed'] as const
export type Goodbye = (typeof goodbyes)[number]

/** The events of a tenant, as the last good poll showed them. */
const documentSchema = z.object({
  ageMs,
  incarnation: z.optional(z.number()),
  apiVersion: name,
  events: readList(scheduledEventSchema, limits.events),
  /** Entries of `Events` that could not be read. */
  unreadable: z._default(z.int().check(z.minimum(0)), 0),
  /**
   * Events that did not fit into the report, and events of earlier documents that this one may hide,
   * in an unreadable entry or because its api-version does not show their type. They are neither
   * seen nor gone.
   */
  hidden: z._default(readList(eventIdSchema, limits.events), []),
})

export const reportSchema = z
  .object({
    version: z.literal(1),
    vm: vmSchema,
    beacon: z.object({
      version: name,
      /**
       * New at each start of the process; the first accepted report of a new one retires the old.
       */
      bootId: z.string().check(z.minLength(8), z.maxLength(64)),
      /** Grows with every report of this boot. */
      counter: z.int().check(z.minimum(1)),
      /** Time since the VM's operating system started. */
      uptimeMs: ageMs,
      /** What the VM's clock showed when the report was made, epoch ms. */
      clock: z.optional(z.number().check(z.minimum(0))),
    }),
    /**
     * What IMDS shows now; null until a first poll succeeded. A failed poll keeps the last
     * document.
     */
    document: z.nullable(documentSchema),
    /** Changes since the last accepted report, oldest first. */
    changes: readList(changeSchema, maxChanges),
    /** Outcomes of directives since the last accepted report. */
    starts: readList(startSchema, limits.events),
    /**
     * Hooks of this VM. `runs` has those of each event in the document that hits this VM, and of
     * events that ended lately. An event without a run of `prepare` has no hook here. Absent if no
     * runner of hooks is set up.
     */
    hooks: z.optional(
      z.object({
        available: z.array(hookSchema).check(z.maxLength(2)),
        runs: readList(hookRunSchema, limits.events),
        /** The name of the VM's Kubernetes node. */
        node: z.optional(name),
        workloads: z.optional(z.array(name).check(z.maxLength(maxWorkloads))),
      }),
    ),
    /** Only in the last report of a boot. */
    goodbye: z.optional(z.enum(goodbyes)),
    /**
     * The relay may hold the answer this long, as it offered in its last answer. The beacon breaks
     * the request off once it has news.
     */
    waitMs: z.optional(z.number().check(z.minimum(0), z.maximum(86_400_000))),
  })
  .check(
    z.superRefine(({ document, changes, starts, hooks }, { addIssue }) => {
      const named = (list: readonly { eventId: string }[], ...at: string[]) =>
        list.map(({ eventId }, i) => ({ eventId, at: [...at, i, 'eventId'] }))
      const ids = [
        ...named(document?.events ?? [], 'document', 'events'),
        ...(document?.hidden ?? []).map((eventId, i) => ({
          eventId,
          at: ['document', 'hidden', i],
        })),
        ...changes.map(({ event }, i) => ({
          eventId: event.eventId,
          at: ['changes', i, 'event', 'eventId'],
        })),
        ...named(starts, 'starts'),
        ...named(hooks?.runs ?? [], 'hooks', 'runs'),
      ]
      for (const { eventId, at } of ids) {
        const prefix = ownPrefixes.find((own) => eventId.startsWith(own))
        if (prefix === undefined) continue
        addIssue({ code: 'custom', path: at, message: notOurs(prefix) })
      }
    }),
  )
export type Report = z.infer<typeof reportSchema>

/** A beacon confirms a directive within this time. Else the relay gives it to the next beacon. */
export const directiveLeaseMs = 5_000

/**
 * What rules read of a VM before one of them approved. What is absent was not read. `tags`: by name in
 * lower case, null if the VM had no such tag.
 */
const readVmSchema = z.object({
  resourceGroup: z.optional(name),
  scaleSet: z.optional(name),
  tags: z.optional(z.record(z.string(), z.nullable(z.string()))),
})
export type ReadVm = z.infer<typeof readVmSchema>

export function isAsRead(
  { resourceGroup, scaleSet, tags = {} }: ReadVm,
  vm: Pick<Vm, 'resourceGroup' | 'scaleSet' | 'tags'>,
): boolean {
  const own = new Map(Object.entries(vm.tags).map(([tag, value]) => [tag.toLowerCase(), value]))
  return (
    (resourceGroup === undefined || isSameName(resourceGroup, vm.resourceGroup)) &&
    (scaleSet === undefined || isSameName(scaleSet, vm.scaleSet)) &&
    Object.entries(tags).every(([tag, value]) => (own.get(tag) ?? null) === value)
  )
}

/**
 * An event to start, and what was approved. The beacon compares this with its own document and its
 * own VM.
 */
const directiveSchema = z.object({
  eventId: eventIdSchema,
  eventType: name,
  /** Names of VMs, in lower case. */
  resources: z.array(name).check(z.maxLength(limits.resources)),
  /** Absent if the approval covers any duration. */
  durationSeconds: z.optional(z.number()),
  /** Absent if the approval covers any source. */
  source: z.optional(name),
  /** The beacon's own VM. Absent if no rule read anything of it. */
  vm: z.optional(readVmSchema),
})
export type Directive = z.infer<typeof directiveSchema>

const preparationSchema = z.object({
  eventId: directiveSchema.shape.eventId,
  when: z.enum(['now', 'hold']),
})

const refusedSchema = z.object({
  eventId: directiveSchema.shape.eventId,
  reason: z.string().check(z.maxLength(limits.text)),
})

/** The answer to an accepted or repeated report. */
export const answerSchema = z.object({
  /** `repeated`: an older or repeated counter, nothing was changed. */
  outcome: z.enum(['accepted', 'repeated']),
  /** The relay's clock, epoch ms. */
  time: z.number(),
  /** When to report again, if nothing changes before. */
  paceMs: z.number().check(z.minimum(100), z.maximum(86_400_000)),
  /** Events that this beacon must ask Azure to start now. */
  directives: z.array(directiveSchema).check(z.maxLength(limits.events)),
  /**
   * When to run the hook `prepare`, where the beacon must not follow its own plan. `now`: a person
   * asked for it, or it is this VM's turn. `hold`: it is another VM's turn.
   */
  preparations: z._default(z.array(preparationSchema).check(z.maxLength(limits.events)), []),
  /** Events that the relay did not store, and why. It stored the rest of the report. */
  refused: z._default(z.array(refusedSchema).check(z.maxLength(limits.events)), []),
  /**
   * A decision may be near. If the beacon has no news, it reports again at once, with this `waitMs`:
   * the relay answers after this time, or as soon as there is a decision.
   */
  waitMs: z.optional(z.number().check(z.minimum(1), z.maximum(60_000))),
})
export type Answer = z.infer<typeof answerSchema>
export type Refused = Answer['refused'][number]

/** The relay answers 409: a newer boot of the same VM has replaced this one. */
export const retiredCode = 'boot_retired'
/** The relay answers 401: only the clock is wrong. The problem's `time` is the relay's. */
export const clockCode = 'clock_outside_tolerance'
/** The relay answers 401: it does not accept the token. It may accept a new one. */
export const tokenCode = 'token_invalid'
/** The relay answers 400. */
export const malformedCode = 'report_malformed'
/** The report itself is wrong, so it must not be sent again. */
export const contentCodes: readonly string[] = [malformedCode, 'body_too_large']
/** The relay answers 503: it cannot check a token now. */
export const unavailableCode = 'identity_unavailable'
