import type { ApiFeature } from '../../support/api-feature.ts'

export const reloadApi: ApiFeature = {
  ofAdmin: ['POST /v1/reload'],
  documents: ['reloadConfiguration'],
}
