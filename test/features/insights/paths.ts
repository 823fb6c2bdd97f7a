export const insightsPaths = { insights: '/insights' }
