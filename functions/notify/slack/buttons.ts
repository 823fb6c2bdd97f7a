// Buttons in messages to Slack. Slack signs who pressed one; the app's signing secret proves it.
import type { ButtonService } from '../kind.ts'

export const buttons: ButtonService = {
  approveIn: 'slack',
  how: 'slack',
  service: 'Slack',
  maxValueLength: 2_000,
  listHomes: (_channel, { slackApp }) => slackApp?.team ?? [],
  needs: 'a Slack channel in this route',
  mayBeIn: () => true,
  app: { key: 'slackApp', keys: 'signingSecret and team' },
  person: {
    written: 'team/user',
    form: '[TE][A-Z0-9]{4,30}/[UW][A-Z0-9]{4,30}',
    rule: '"slack:TEAM/USER" with their ids, such as "slack:T0123ABCD/U0123ABCD"',
  },
}
