// People who get messages and may press a button: at once, late, both at the same time, or never; some of them
// although they may not.
import type { Decided, Decider } from '../../functions/core/event/event.ts'
import type { Part } from '../../functions/notify/notifier.ts'
import { actionIds } from '../../functions/notify/slack/blocks.ts'
import { readValue } from '../../functions/use-cases/decision-buttons.ts'
import type { Sent } from '../support/world.ts'
import { adminKey } from '../support/world.ts'
import type { Press } from './approval-book.ts'
import type { Cluster } from './cluster.ts'
import type { Judge } from './judge.ts'
import type { Kernel } from './kernel.ts'
import { entraPeople, type Plan, slackPeople } from './plan.ts'
import type { Random } from './random.ts'
import type { Said } from './ways-in.ts'
import { drillPath, replayPath, type Worker } from './workers.ts'

interface Parts {
  kernel: Kernel
  random: Random
  cluster: Cluster
  judge: Judge
  plan: Plan
  http: boolean
}

/** A button that somebody means to press, and when. */
interface Intent extends Omit<Press, 'stamp' | 'at'> {
  pressAt: number
}

export class People {
  readonly #parts: Parts
  /** As whom each of them is known, where that can be known. */
  readonly #known: { slack: string; entra: string }[]

  constructor(parts: Parts) {
    this.#parts = parts
    const { kernel, plan, random } = parts
    this.#known = Array.from({ length: plan.people }, () => {
      return { slack: random.pick(slackPeople), entra: random.pick(entraPeople) }
    })
    for (const ms of plan.replayAfterMs) kernel.after(ms, () => this.#replay())
    for (const drill of plan.drills) kernel.after(drill.afterMs, () => this.#drill(drill))
    for (const act of plan.acts) kernel.after(act.afterMs, () => this.#act(act))
  }

  /** A message arrived where people look. */
  read({ delivery, pageUrl }: Part, request: Sent): void {
    if (pageUrl === undefined || !request.body.includes(pageUrl)) return
    const { kernel, random } = this.#parts
    const { fleet, eventId, channel } = delivery
    const button = buttonIn(request)
    for (const [person, known] of this.#known.entries()) {
      if (!random.chance(0.6)) continue
      const decision: Decided['decision'] = random.chance(0.7) ? 'approved' : 'declined'
      const hasty = random.chance(0.5)
      const ms = hasty ? 2_000 : random.int(500, 60_000)
      const pressAt = kernel.now + ms
      const key = `${fleet}/${eventId}`
      const inSlack = button !== undefined && random.chance(0.7)
      const by = inSlack ? { how: 'slack' as const, who: known.slack } : this.#at(channel, known)
      const intent = { key, eventId, person, by, decision, pressAt }
      if (inSlack) kernel.after(ms, () => this.#pressInSlack(intent, button))
      else {
        const path = new URL(pageUrl).pathname
        // pages stand open for long
        kernel.after(random.int(0, Math.min(ms, 5_000)), () => this.#openPage(intent, path))
      }
    }
  }

  /** At the page one has signed in, or holds the link of a channel and no more. */
  #at(channel: string, known: { entra: string }): Decider {
    const { plan, random } = this.#parts
    const signedIn = plan.config.signIn !== undefined && random.chance(0.5)
    return signedIn ? { how: 'entra', who: known.entra } : { how: 'link', who: channel }
  }

  /** An admin wants to see what failed once more. */
  #replay(): void {
    const { cluster, judge } = this.#parts
    const since = new Date(0).toISOString()
    const headers = { authorization: `Bearer ${adminKey}` }
    const request = { path: replayPath, fleet: '', body: JSON.stringify({ since }), headers }
    judge.note('an admin asks for what failed')
    cluster.post(request, () => {})
  }

  /** An owner wants to see that all this works. */
  #drill({ id, wish }: Plan['drills'][number]): void {
    const { cluster, judge } = this.#parts
    const request = { path: drillPath, fleet: '', body: JSON.stringify({ id, wish }) }
    judge.note(`an admin asks for the drill ${id}`)
    cluster.post(request, (reply) => judge.answeredAdmin(id, reply))
  }

  /** An owner uses a feature. */
  #act({ feature, note, path, body }: Plan['acts'][number]): void {
    const { cluster, judge, kernel } = this.#parts
    const wish = body(kernel.now)
    const headers = { authorization: `Bearer ${adminKey}` }
    judge.note(note)
    cluster.post({ path, fleet: '', body: JSON.stringify(wish), headers }, (reply) => {
      judge.answeredAdmin(feature, reply)
      if (reply?.status === 201) judge.books.get(feature)!.acted?.(wish)
    })
  }

  #openPage(intent: Intent, path: string): void {
    const { kernel, cluster, judge, http } = this.#parts
    const { by, decision, eventId, pressAt } = intent
    cluster.serve(
      ({ page }) => page.look(path, by),
      (shown) => {
        if (shown === undefined) return judge.note(`${by.who} can decide nothing for ${eventId}`)
        const press = {
          ...intent,
          stamp: shown.stamp,
          at: http ? ('form' as const) : ('page' as const),
        }
        const decide = ({ page }: Worker) => page.decide(path, by, decision, shown)
        kernel.after(pressAt - kernel.now, () => this.#press(press, decide))
      },
    )
  }

  #pressInSlack(intent: Intent, button: string): void {
    const { stamp } = readValue(button)!
    const { by, decision } = intent
    this.#press({ ...intent, stamp, at: 'slack' }, ({ slack }) => slack.press(button, by, decision))
  }

  #press(press: Press, decide: (worker: Worker) => Promise<Said>): void {
    const { cluster, judge } = this.#parts
    cluster.serve(decide, judge.pressed(press))
  }
}

interface Block {
  elements?: { action_id?: string; value?: string }[]
}

/** What the button that approves carries, where the message has one. */
function buttonIn({ json }: Sent): string | undefined {
  const blocks: Block[] = json.blocks ?? []
  const elements = blocks.flatMap((block) => block.elements ?? [])
  return elements.find(({ action_id }) => action_id === actionIds.approved)?.value
}
