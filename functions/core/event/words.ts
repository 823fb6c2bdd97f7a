// The words and colours for where an event is, on each page, in searches and in a terminal.
import { isAdvice } from '../../../shared/document.ts'
import type { Decide } from './event.ts'
import type { EventStep } from './summary.ts'

/** `ask`: people have to decide. `wait`: nothing to do. `bad`: something is wrong. */
export type Tone = 'ask' | 'wait' | 'bad' | 'good' | 'over'

/** What an undecided event waits for. */
export type Wait = 'ask' | 'rule' | 'azure' | 'advice'

interface Words {
  /** A badge, a group, a column. */
  word: string
  /** A message, and the head of a page. Default: the word. */
  title?: string
  tone: Tone
}

/** `open` is any undecided event, where a list does not tell them apart. */
export const stateWords: Record<EventStep | Wait, Words> = {
  stuck: { word: 'Stuck', title: 'Approved, but not started', tone: 'bad' },
  ask: { word: 'To decide', tone: 'ask' },
  rule: { word: 'Waiting for a rule', tone: 'over' },
  azure: { word: 'Waiting for Azure', tone: 'over' },
  advice: { word: 'Advice', tone: 'wait' },
  open: { word: 'Not decided', tone: 'ask' },
  declined: { word: 'Left to Azure', tone: 'over' },
  approved: { word: 'Approved', tone: 'good' },
  started: { word: 'Running', tone: 'wait' },
  completed: { word: 'Completed', tone: 'over' },
  cancelled: { word: 'Cancelled', tone: 'over' },
  lost: { word: 'Outcome unknown', tone: 'bad' },
}

/** What a message and the head of a page call it. */
export function chooseTitle(state: EventStep | Wait): string {
  const { word, title = word } = stateWords[state]
  return title
}

/** Inside a sentence: `waiting for Azure`. */
export function nameState(state: EventStep | Wait): string {
  const { word } = stateWords[state]
  return word.charAt(0).toLowerCase() + word.slice(1)
}

/** `asks`: people can still decide it. */
export function chooseWait(facts: { eventType: string }, decide: Decide, asks: boolean): Wait {
  if (isAdvice(facts)) return 'advice'
  if (asks) return 'ask'
  return decide === 'approve' ? 'rule' : 'azure'
}
