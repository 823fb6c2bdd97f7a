// An event or an alert as a row of the table `FoghornEvents_CL` in Log Analytics. `infra/azure/ship.bicep`
// has the same columns.
import type { EventData } from '../../core/message/cloud-event.ts'

/** The parts of a CloudEvent that a row is made of. */
interface Body {
  id: string
  type: string
  time: string
  data?: Partial<EventData>
}

/** `body`: a CloudEvent. Columns without a value are left out. */
export function toTableRow(body: string) {
  const { id, type, time, data = {} } = JSON.parse(body) as Body
  const decision = data.approvals?.at(-1)
  return {
    // Azure replaces it if it is older than two days
    TimeGenerated: time,
    MomentAt: time,
    MessageId: id,
    Moment: type.split('.').at(-1),
    Fleet: data.fleet,
    EventId: data.eventId,
    Epoch: data.epoch,
    Drill: data.drill ?? false,
    EventType: data.eventType,
    Source: data.source,
    Phase: data.phase,
    Resources: data.resources,
    NotBefore: data.notBefore,
    DurationSeconds: data.durationSeconds,
    FirstSeenAt: data.firstSeenAt,
    StartedAt: data.startedAt,
    StartKind: data.startKind,
    EndedAt: data.endedAt,
    Outcome: data.outcome,
    Rule: data.policy?.rule,
    Decision: decision?.decision,
    DecidedHow: decision?.how,
    DecidedBy: decision?.who,
    DecidedAt: decision?.at,
    Data: data,
  }
}
