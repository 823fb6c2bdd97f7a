// The pictures of the README and the docs: where each comes from, and the texts that it shows. A test
// compares the texts with those of the pictures in docs/images, so that no picture is left behind.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
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
/** By the name of the picture: the path below that of the console. */
export const shownTabs = {
  'console-now': '',
  'console-upcoming': '/upcoming',
  'console-beacons': '/beacons',
  'console-channels': '/channels',
  'console-wall': '?wall',
}

/** A digest of the text of each picture. */
export async function pictureTexts(): Promise<Record<string, string>> {
  const preview = await previewPage()
  const start = preview.indexOf(`id="${idOf(shownScene)}"`)
  const from = preview.indexOf('data-kind="slack"', start)
  const scene = preview.slice(from, preview.indexOf('</article>', from))
  const world = await consoleWorld({ events: 80 })
  const visit = await asAdmin(world)
  const tabs = await Promise.all(
    Object.entries(shownTabs).map(async ([name, path]) => {
      return [name, await textOf(await visit.get(`/console${path}`))] as const
    }),
  )
  world.store.close()
  const page = (await pageScenes())[shownPage]!
  const texts = [
    ['slack', await textOf(new Response(scene))],
    ['page', await textOf(new Response(page))],
    ...tabs,
  ] as const
  return Object.fromEntries(texts.map(([name, text]) => [name, digestOf(text)]))
}

function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16)
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
