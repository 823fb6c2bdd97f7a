// The pages of the console that features bring.
import { insightsPaths } from './insights/paths.ts'
import { mutePaths } from './mutes/paths.ts'

export const consolePaths: Record<string, string> = { ...insightsPaths, ...mutePaths }
