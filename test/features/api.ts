// What the tests of the API know of features.
import type { ApiFeature } from '../support/api-feature.ts'
import { muteApi } from './mutes/api.ts'

export const apiFeatures: ApiFeature[] = [muteApi]
