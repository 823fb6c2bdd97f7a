// Slack shows the name of the person who decided, in place of the words for them.
import { expect, test } from 'vitest'
import { describeDecided } from '../../../functions/core/message/phrases.ts'
import { withName } from '../../../functions/notify/slack/text.ts'
import { at } from '../../support/records.ts'

test.each([
  ['slack', 'T0HOME/U0ADA', 'left to Azure by <@U0ADA> (team T0HOME, signed by Slack)'],
  ['slack', 'T0HOME/!channel', 'left to Azure by Slack user !channel (team T0HOME'],
  ['slack', 'T0HOME/', 'left to Azure by Slack user  (team T0HOME'],
  ['entra', 'T0HOME/U0ADA', 'left to Azure by Entra user U0ADA (tenant T0HOME'],
  ['link', 'T0HOME/U0ADA', 'left to Azure through the link sent to "T0HOME/U0ADA"'],
] as const)('%s %s', (how, who, shown) => {
  const decided = { decision: 'declined' as const, how, who, at }
  expect(withName(describeDecided(decided), { decided })).toContain(shown)
  expect(withName('Slack user U0ADA', {})).toBe('Slack user U0ADA')
})
