// How the console shows subscriptions: below the channels, and each on a page of its own.
import { html } from 'hono/html'
import { channelTable, type ShownChannel } from '../../pages/console/channels.ts'
import type { Html } from '../../pages/event.ts'
import type { Subscription } from './rule.ts'

export const subscriptionHealth: Record<Subscription['state'] | 'failing', ShownChannel['health']> =
  {
    active: ['good', 'Active'],
    failing: ['ask', 'Failing'],
    pending: ['ask', 'Not confirmed'],
    paused: ['wait', 'Paused'],
    disabled: ['bad', 'Disabled'],
  }

export const keptNote =
  'The relay keeps its messages. To send them, first make the subscription active through the API.'

/** `more`: these are not all. */
export function subscriptionsPart(shown: ShownChannel[], more: boolean, now: number): Html {
  const none = html`<p class="empty">There are no subscriptions. Other systems create them through the API.</p>`
  return html`<h2 id="subscriptions">Subscriptions <span class="count">${shown.length}</span></h2>
${shown.length === 0 ? none : channelTable('Subscriptions', shown, { now })}
${more ? html`<p class="note">These are the newest. The API lists all.</p>` : ''}`
}
