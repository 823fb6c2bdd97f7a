// The fields that features add to what the API, webhooks and streams show of an event.
import { muteFields } from './mutes/schema.ts'
import { noteFields } from './notes/schema.ts'

export const eventFields = { ...muteFields, ...noteFields }
