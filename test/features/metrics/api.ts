import type { ApiFeature } from '../../support/api-feature.ts'

export const metricsApi: ApiFeature = { documents: ['getMetrics'] }
