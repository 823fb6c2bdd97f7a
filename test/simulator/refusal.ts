// An operation that was not done, and why: a status for the control API, a sentence for the person.

export interface Refusal {
  readonly refused: 400 | 404 | 409
  readonly error: string
}

export function isRefusal(outcome: object): outcome is Refusal {
  return 'refused' in outcome
}

export function noEvent(id: string): Refusal {
  return { refused: 404, error: `There is no event ${id}: it was never created, or is gone.` }
}
