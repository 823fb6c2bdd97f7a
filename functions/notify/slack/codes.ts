// Slack says why it refuses a message in codes. People get words, too.

/** https://docs.slack.dev/messaging/sending-messages-using-incoming-webhooks */
const words = new Map([
  ['no_service', 'Slack no longer knows this webhook'],
  ['no_team', 'Slack no longer knows the workspace of this webhook'],
  ['channel_not_found', 'Slack does not find the channel'],
  ['channel_is_archived', 'the channel in Slack is archived'],
  ['is_archived', 'the channel in Slack is archived'],
  ['not_in_channel', 'the bot is not in the channel in Slack'],
  ['action_prohibited', 'an administrator of Slack has restricted this webhook'],
])

/** `Slack no longer knows this webhook: no_service`. A code without words is returned as it is. */
export function explainCode(code: string): string {
  const said = words.get(code)
  return said === undefined ? code : `${said}: ${code}`
}
