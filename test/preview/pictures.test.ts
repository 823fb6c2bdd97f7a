import { existsSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { endingOf, folder, pictureTexts, textsFile } from './pictures.ts'

test('the pictures of the docs show what the pages say: run npm run screenshots', async () => {
  const texts = await pictureTexts()
  expect(JSON.parse(readFileSync(textsFile, 'utf8'))).toEqual(texts)
  for (const name of Object.keys(texts)) {
    for (const theme of ['light', 'dark'] as const) {
      expect(existsSync(`${folder}/${name}${endingOf(theme)}.png`)).toBe(true)
    }
  }
})
