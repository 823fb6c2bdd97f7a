// Sends a form without leaving the page, so the page stays visible if the relay does not answer.
import { readAnswer } from './answers.ts'
import { guardPresses, keepInPlace } from './press-guard.ts'
import { setText } from './text.ts'

export const answerLimitMs = 10_000

const reasons = {
  busy: 'Nothing was decided: too many requests. Try again in a few seconds.',
  not_sent:
    'The relay did not answer. It may have stored your decision. Once it answers, this page shows that.',
}

export function isOurs(page: Document): boolean {
  return page.querySelector('main[data-page]') !== null
}

export function liveIn(page: Document): boolean {
  return page.querySelector('main[data-refresh]') !== null
}

/** `onPage` gets the page that answers the form. */
export async function send(
  form: HTMLFormElement,
  button: HTMLButtonElement,
  onPage: (fresh: Document) => void,
): Promise<void> {
  form.setAttribute('aria-busy', 'true')
  const answer = await post(form, button)
  if (typeof answer === 'string') showFailure(form, reasons[answer])
  else onPage(answer)
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
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html')
    const { status } = answer
    const outcome = readAnswer({ status, isOurs: isOurs(page), isLive: liveIn(page) })
    return outcome === 'shown' ? page : outcome
  } catch {
    return 'not_sent'
  }
}

function showFailure(form: HTMLFormElement, reason: string): void {
  const failed = form.closest('[data-event]')?.querySelector<HTMLElement>('[data-failed]')
  if (failed === null || failed === undefined) return
  keepInPlace(() => {
    setText(failed, reason)
    failed.hidden = false
  })
  failed.scrollIntoView({ block: 'nearest' })
  guardPresses()
}
