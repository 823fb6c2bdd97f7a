export const calendarDocuments = ['getCalendar']
