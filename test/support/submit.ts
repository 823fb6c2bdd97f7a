// What a browser does with the page behind a link, without the browser: opens it, and sends back the form
// with all that it holds.

/** Throws where the page has no form for this decision. */
export async function submit(link: string, decision: 'approve' | 'not_now'): Promise<Response> {
  const page = await fetch(link)
  const html = await page.text()
  const form = new URLSearchParams(hiddenFields(html))
  if (!html.includes(`value="${decision}"`)) {
    throw new Error(`the page (${page.status}) has no button for ${decision}`)
  }
  form.set('decision', decision)
  return fetch(link, { method: 'POST', body: form, redirect: 'manual' })
}

function hiddenFields(html: string): [string, string][] {
  return [...html.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)"/g)].map(
    ([, name = '', value = '']) => [name, value],
  )
}
