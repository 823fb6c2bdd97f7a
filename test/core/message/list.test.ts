// The text of several events in a field that has a limit.
import { expect, test } from 'vitest'
import { listedLines, listText } from '../../../functions/core/message/list.ts'

const told = (title: string, ...lines: string[]) => ({ sign: '⏳', title, lines, facts: [] })
const messages = [told('A', 'a one.', 'a two.'), told('B', 'b one.'), told('C')]

test.each([
  [99, '⏳ A\na one.\na two.\n\n⏳ B\nb one.\n\n⏳ C'],
  [33, '⏳ A\na one.\na two.\n\n⏳ B\n\n⏳ C'],
  [20, '⏳ A\na one.\n\n⏳ B\n\n⏳ C'],
  [19, '⏳ A\n⏳ B\n⏳ C'],
  [11, '⏳ A\n⏳ B\n⏳ C'],
  [10, '3 events'],
])('in %i characters', (room, text) => {
  expect(listText(messages, ({ length }) => length <= room)).toBe(text)
})

test('cuts long titles before an event goes unnamed', () => {
  const long = Array.from({ length: 7 }, (_, i) => told(`evil: Reboot of ${i}${'😀'.repeat(120)}`))
  const own = told('good: Reboot of web_0 at 12:15 UTC')
  const bytes = (text: string) => new TextEncoder().encode(text).length
  const text = listText([...long, own], (one) => bytes(one) <= 1_024)
  expect(text.split('\n')).toHaveLength(8)
  expect(text).toContain('⏳ good: Reboot of web_0 at 12:15 UTC')
})

test('says how many events are not named', () => {
  const many = ['one', 'two', 'three', 'four', 'five'].map((title) => told(title, 'A sentence.'))
  const text = listText(many, ({ length }) => length <= 25)
  expect(text).toBe('⏳ one\n⏳ two\nand 3 more')
})

test('names that a title had no room for come before its sentences', () => {
  const facts = [{ name: 'Affected VMs', value: 'web_1, web_2, web_3' }]
  const own = { ...told('Reboot of web_1 and 2 more', 'A sentence.'), facts }
  expect(listedLines(own)).toEqual(['Affected VMs: web_1, web_2, web_3', 'A sentence.'])
  expect(listedLines({ ...own, title: 'Reboot of web_1, web_2, web_3' })).toEqual(['A sentence.'])
})
