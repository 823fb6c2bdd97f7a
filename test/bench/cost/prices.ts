// List prices in USD without tax, East US, pay as you go, and the rules by which Azure bills. Azure's pricing
// pages fill in their figures by script, so each line names what was read instead: stored copies, read on
// 2026-11-21. Prices of other regions may differ by a quarter.

const million = 1_000_000

/** https://azure.microsoft.com/pricing/details/functions/ */
export const flex = {
  /** modal.com/blog/azure-function-pricing-guide (May 2025); a copy of the page in EUR has 0.000025. */
  gbSecondUsd: 0.000026,
  /** The copy in EUR has 0.371 a million; its GB-second is in the same proportion. */
  executionUsd: 0.4 / million,
  /** The page's own sentence, as others quoted it on 2026-10-02; per subscription and month. */
  freeGbSeconds: 100_000,
  freeExecutions: 250_000,
  /**
   * learn.microsoft.com/azure/azure-functions/flex-consumption-plan, "Billing": an instance is billed for at
   * least a second. The host reports overlapping executions once (Azure/azure-functions-host,
   * FlexConsumptionMetricsPublisher.cs, and its options).
   */
  leastActiveMs: 1_000,
  stepMs: 100,
} as const

export const storage = {
  /**
   * azure.microsoft.com/pricing/details/storage/tables: 0.00036 for 10 000 "of any type". A request is a
   * transaction, whatever its outcome, and so is an entity group transaction, whatever it holds
   * ("Understanding Windows Azure Storage Billing", Azure Storage team, 2010).
   */
  tableOperationUsd: 0.00036 / 10_000,
  /** azure.microsoft.com/pricing/details/storage/queues: 0.004 for 10 000 of either class, general purpose v2. */
  queueOperationUsd: 0.004 / 10_000,
  /** Not read: about 0.05 for 10 000 writes of a hot blob; only the host's own bookkeeping uses it. */
  blobWriteUsd: 0.05 / 10_000,
} as const

/**
 * developers.cloudflare.com/workers/platform/pricing and /durable-objects/platform/pricing, paid plan,
 * stored copies read on 2026-11-22. Not in it: processor time (30 million ms are free, a heartbeat takes
 * about 1), reads of rows (25 billion are free) and storage (5 GB are free).
 */
export const cloudflare = {
  planUsd: 5,
  worker: { requestUsd: 0.3 / million, freeRequests: 10 * million },
  object: {
    requestUsd: 0.15 / million,
    freeRequests: 1 * million,
    gbSecondUsd: 12.5 / million,
    freeGbSeconds: 400_000,
    /** An object is billed for 128 MB, whatever it uses. */
    memoryGb: 0.128,
    rowUsd: 1 / million,
    freeRows: 50 * million,
  },
  /** test/workerd/rows.test.ts counts them. Every third heartbeat or so moves an entry of an index, too. */
  rowsOf: { heartbeat: 2, cron: 1 },
} as const

/** What a bench without Azure cannot measure. */
export const assumed = {
  /** One request to Tables or Queues from a function of the same region. */
  storageCallMs: 8,
  /** Host, worker and relay around the storage calls, on a quarter of a core. */
  ownMs: 15,
  /** Of one report on one core: 2.1 in `npm run bench -- azure`, and what Azure's own host takes. */
  processorMs: 3,
  /** Share of its processor that an instance can be kept busy with before another one is needed. */
  fullLoad: 0.6,
  /** An instance of 2 048 MB has one core, and others have theirs in proportion. */
  coresPerGb: 0.5,
  /** infra/azure/main.bicep: instanceMemoryMB. */
  flexMemoryMb: 512,
  /** The schedule's state, and the lock that keeps a timer single. */
  blobWritesPerTimerRun: 2,
  /** The host asks its queue so often (infra/azure/host.json: maxPollingInterval). */
  queuePollSeconds: 2,
} as const
