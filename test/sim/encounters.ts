// The names of what worlds may meet.

/** A world may bring these about, and enough worlds must. */
export const encounters = [
  'two people decide at once',
  'a person and a policy decide',
  'a listed person decides',
  'an unlisted person is refused',
  'a form of the page decides',
  'a press in Slack decides',
  'a press for what has changed is refused',
  'a relay dies between decision and directive',
  'a beacon dies with a directive',
  'a channel that is away is stood in for',
  'an event starts while no relay answers',
  'a VM still shows what the others miss',
  'IMDS answers 400 for seconds',
  'IMDS throttles',
  'a document has entries that cannot be read',
  'an event that seemed cancelled is back as Started',
  'an event is first seen long after its NotBefore',
  'an event changes while its start is under way',
  'an event is of another type',
  'a VM is added while its beacon reports',
  'a beacon is updated while Azure cancels',
  'a VM lies about an event',
  'somebody speaks as other VMs',
  'a fleet floods the relay',
  'a rule waits, and then approves',
  'a rule waits in vain',
  'an event waits for its turn',
  'a beacon that died is told silent',
] as const
export type Encounter = (typeof encounters)[number]
