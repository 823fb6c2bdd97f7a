// The pages of the documentation: every link in them leads somewhere, and a reader finds the way from each
// page to the list of all.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'

const folder = 'docs'
const pages = readdirSync(folder).filter((name) => name.endsWith('.md'))
const textOf = (path: string) => readFileSync(path, 'utf8').replace(/^```[\s\S]*?^```/gm, '')

/** As GitHub makes them from headings. */
function anchorsOf(path: string): Set<string> {
  const headings = textOf(path).match(/^#+ .*$/gm) ?? []
  const known = new Map<string, number>()
  return new Set(
    headings.map((heading) => {
      const plain = heading.replace(/^#+ /, '').replace(/\[([^\]]*)\]\([^)]*\)/g, '$1')
      const anchor = plain
        .toLowerCase()
        .replace(/[^\p{L}\p{N}\s_-]/gu, '')
        .replace(/\s/g, '-')
      const count = known.get(anchor) ?? 0
      known.set(anchor, count + 1)
      return count === 0 ? anchor : `${anchor}-${count}`
    }),
  )
}

test.each(pages)('every link of %s leads somewhere', (name) => {
  const page = join(folder, name)
  const links = [...textOf(page).matchAll(/\]\(([^)\s]+)\)/g)].map(([, to]) => to!)
  const broken = links.filter((to) => {
    if (/^[a-z]+:/.test(to)) return false
    const [path = '', anchor] = to.split('#')
    const target = path === '' ? page : join(dirname(page), path)
    return !existsSync(target) || (anchor !== undefined && !anchorsOf(target).has(anchor))
  })
  expect(broken).toEqual([])
})

test.each(pages)('every file that %s names exists', (name) => {
  const paths = [
    ...textOf(join(folder, name)).matchAll(/`((?:functions|beacon|shared|infra|test)\/[\w./-]+)`/g),
  ]
  // a feature may have been taken out
  const isOut = (path: string) => {
    const [feature] = /^functions\/features\/\w+(?=\/)/.exec(path) ?? []
    return feature !== undefined && !existsSync(feature)
  }
  const lost = paths.map(([, path]) => path!).filter((path) => !existsSync(path) && !isOut(path))
  expect(lost).toEqual([])
})

test('each page begins with the way back, and the list has each page', () => {
  const list = textOf(join(folder, 'README.md'))
  // the changelog keeps the form that tools know
  const others = pages.filter((name) => !['README.md', 'CHANGELOG.md'].includes(name))
  const lost = others.filter((name) => {
    const [, , back] = readFileSync(join(folder, name), 'utf8').split('\n')
    return !back?.includes('(README.md)') || !list.includes(`(${name})`)
  })
  expect(lost).toEqual([])
})
