// Operations of features that answer with a document, which no schema describes.
import { calendarDocuments } from './calendar/documents.ts'

export const documents: string[] = [...calendarDocuments]
