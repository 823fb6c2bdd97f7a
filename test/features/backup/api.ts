import type { ApiFeature } from '../../support/api-feature.ts'

export const backupApi: ApiFeature = { ofAdmin: ['POST /v1/backup'], documents: ['makeBackup'] }
