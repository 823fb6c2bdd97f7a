// The form of a page, as a browser would send it back.

const hidden = /<input type="hidden" name="(\w+)" value="([^"]*)">/g

/** The hidden fields of each form of the page. */
export function formsOf(html: string): Record<string, string>[] {
  const forms = html.match(/<form [\s\S]*?<\/form>/g) ?? []
  return forms.map((form) =>
    Object.fromEntries([...form.matchAll(hidden)].map(([, name, value]) => [name, value])),
  )
}

/** Those of the first; empty where there is no form. */
export function fieldsOf(html: string): Record<string, string> {
  return formsOf(html)[0] ?? {}
}

/** What the page's buttons decide. *I'm on it* decides nothing. */
export function buttonsOf(html: string): string[] {
  return [...html.matchAll(/<button([^>]*name="decision"[^>]*)>/g)]
    .map(([, of]) => /value="(\w+)"/.exec(of!)?.[1] ?? '')
    .filter((wish) => wish !== 'take' && wish !== 'give_back')
}

export const formType = 'application/x-www-form-urlencoded'

/** Opens the page and presses a button, over HTTP; where the page has none, it is the answer. */
export async function decideByForm(
  fetch: (url: string, init?: RequestInit) => Response | Promise<Response>,
  link: string,
  decision = 'approve',
): Promise<Response> {
  const shown = await fetch(link)
  const fields = fieldsOf(await shown.clone().text())
  if (fields.form === undefined) return shown
  const body = new URLSearchParams({ ...fields, decision }).toString()
  return fetch(link, { method: 'POST', headers: { 'content-type': formType }, body })
}
