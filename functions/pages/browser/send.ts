// Sends a form without leaving the page, so the page stays visible if the relay does not answer.
import { readAnswer } from './answers.ts'
import { guardPresses, keepInPlace } from './press-guard.ts'
import { partOf } from './show.ts'
import { setText } from './text.ts'

export const answerLimitMs = 10_000

const reasons = {
  busy: 'Nothing was decided: too many requests. Try again in a few seconds.',
  not_sent: 'The relay did not answer. It may have stored your decision: reload the page to see.',
}

/** `onPage` gets the page that answers the form, and the address it would have. */
export async function send(
  form: HTMLFormElement,
  button: HTMLButtonElement,
  onPage: (fresh: Document, url: string) => void,
): Promise<void> {
  form.setAttribute('aria-busy', 'true')
  const answer = await post(form, button)
  if (typeof answer === 'string') showFailure(form, reasons[answer])
  else onPage(answer, form.action)
  form.removeAttribute('aria-busy')
}

async function post(
  form: HTMLFormElement,
  button: HTMLButtonElement,
): Promise<Document | keyof typeof reasons> {
  const body = new URLSearchParams()
  for (const [name, value] of new FormData(form)) body.append(name, String(value))
  body.set(button.name, button.value)
  try {
    const answer = await fetch(form.action, {
      method: 'POST',
      body,
      cache: 'no-store',
      redirect: 'error',
      signal: AbortSignal.timeout(answerLimitMs),
    })
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const outcome = readAnswer({
      status: answer.status,
      isOurs: fresh.querySelector('main[data-page]') !== null,
      hasEvent: fresh.querySelector('main[data-page] [data-event]') !== null,
    })
    return outcome === 'shown' ? fresh : outcome
  } catch {
    return 'not_sent'
  }
}

function showFailure(form: HTMLFormElement, reason: string): void {
  const event = form.closest('[data-event]')
  const failed = event === null ? null : partOf(event, 'failed')
  if (failed === null) return
  keepInPlace(() => {
    setText(failed, reason)
    failed.hidden = false
  })
  failed.scrollIntoView({ block: 'nearest' })
  guardPresses()
}
