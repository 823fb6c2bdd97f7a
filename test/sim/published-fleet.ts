/** Azure publishes the events of this fleet only. */
export const publishedFleet = 'prod'
export const subscription = '1e1e1e1e-0000-4000-8000-000000000001'
