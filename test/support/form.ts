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

export const formType = 'application/x-www-form-urlencoded'

/** What a press of this button sends. */
export function formOf(html: string, decision: string): string {
  return new URLSearchParams({ ...fieldsOf(html), decision }).toString()
}

/** Opens the page and presses a button, over HTTP. */
export async function decideByForm(
  fetch: (url: string, init?: RequestInit) => Response | Promise<Response>,
  link: string,
  decision = 'approve',
): Promise<Response> {
  const html = await (await fetch(link)).text()
  const headers = { 'content-type': formType }
  return fetch(link, { method: 'POST', headers, body: formOf(html, decision) })
}
