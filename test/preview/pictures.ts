// The pictures of the README and the docs: where each comes from, and the texts that it shows. A test
// compares the texts with those of the pictures in docs/images, so that no picture is left behind.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { consolePaths } from '../features/console.ts'
import { capture } from '../notify/outgoing.ts'
import { scenes } from '../notify/scenes.ts'
import { asAdmin } from '../support/console.ts'
import { textOf } from '../support/people.ts'
import { consoleWorld } from './console-world.ts'
import { idOf, previewPage } from './page.ts'
import { pageScenes } from './page-scenes.ts'

export const folder = 'docs/images'
/** What the pictures show, by name. */
export const textsFile = `${folder}/texts.json`

export const shownScene = 'reminder'
export const shownPage = 'open'
/** By kind: what the preview draws its message in. */
export const shownMessages = { slack: '.slack', teams: '.card', pagerduty: '.pager' } as const
const desk = { width: 1280, height: 860 }
const phone = { width: 390, height: 844 }
/** By the name of the picture: the path below that of the console, and the screen. */
export const shownTabs = {
  'console-now': { path: '', screen: desk },
  'console-phone': { path: '', screen: phone },
  'console-upcoming': { path: '/upcoming', screen: desk },
  'console-beacons': { path: '/beacons', screen: desk },
  'console-channels': { path: '/channels', screen: desk },
  'console-insights': { path: consolePaths.insights!, screen: desk },
  'console-wall': { path: '?wall', screen: desk },
}

/** The mail of the scene, as a mail program shows it. */
export async function mailPage(): Promise<string> {
  const { requests } = await capture('mail', scenes[shownScene])
  return requests[0]!.json.html
}

/** A digest of what each picture shows: its text, and the styles that lay it out. */
export async function pictureTexts(): Promise<Record<string, string>> {
  const preview = await previewPage()
  const start = preview.indexOf(`id="${idOf(shownScene)}"`)
  const messages = Object.keys(shownMessages).map((kind) => {
    const from = preview.indexOf(`data-kind="${kind}"`, start)
    return [
      kind,
      styleIn(preview) + preview.slice(from, preview.indexOf('</article>', from)),
    ] as const
  })
  const world = await consoleWorld({ events: 80 })
  const visit = await asAdmin(world)
  const tabs = await Promise.all(
    Object.entries(shownTabs).map(async ([name, { path }]) => {
      return [name, await (await visit.get(`/console${path}`)).text()] as const
    }),
  )
  world.store.close()
  const page = (await pageScenes())[shownPage]!
  const shown = [...messages, ['mail', await mailPage()] as const, ['page', page] as const, ...tabs]
  return Object.fromEntries(
    await Promise.all(shown.map(async ([name, html]) => [name, await digestOf(html)])),
  )
}

function styleIn(html: string): string {
  return /<style[^>]*>.*?<\/style>/s.exec(html)?.[0] ?? ''
}

async function digestOf(html: string): Promise<string> {
  const text = await textOf(new Response(html))
  return createHash('sha256').update(styleIn(html)).update(text).digest('hex').slice(0, 16)
}

/** A dark picture has a name of its own. */
export function endingOf(colorScheme: 'light' | 'dark'): string {
  return colorScheme === 'dark' ? '-dark' : ''
}

/** An open font, as the machine that takes the pictures may have none that people know from pages. */
export function withFont(page: string): string {
  const file = createRequire(import.meta.url).resolve(
    '@fontsource-variable/inter/files/inter-latin-wght-normal.woff2',
  )
  const url = `data:font/woff2;base64,${readFileSync(file).toString('base64')}`
  const style = `@font-face { font-family: Inter; src: url(${url}); font-weight: 100 900 }
body, button, input, select { font-family: Inter, sans-serif !important }`
  return page.replace('</style>', `${style}</style>`)
}
