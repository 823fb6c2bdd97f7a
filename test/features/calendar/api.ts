import type { ApiFeature } from '../../support/api-feature.ts'

export const calendarApi: ApiFeature = { documents: ['getCalendar'] }
