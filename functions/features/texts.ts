// What the reference in docs/ says of features: their log events and error codes.
import { muteCodes, muteEvents } from './mutes/texts.ts'

export const logEvents = { ...muteEvents }
export const errorCodes = { ...muteCodes }
