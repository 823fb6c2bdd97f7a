// Buttons in messages to Teams. Who pressed one is a person of Entra; the Bot Connector's token proves it.
import type { ButtonService } from '../kind.ts'

export const buttons: ButtonService = {
  approveIn: 'teams',
  how: 'entra',
  service: 'Teams',
  maxValueLength: 2_000,
  listHomes: ({ tenantId }) => (tenantId === undefined ? [] : [tenantId]),
  needs: 'a Teams channel with "channelId" in this route: only a bot has buttons',
  mayBeIn: ({ channelId }) => channelId !== undefined,
}
