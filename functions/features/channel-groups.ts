// Channels of the configuration under keys of their own, beside `channels`.
import { ship } from './ship/kind.ts'

export const channelGroups = { ship }
