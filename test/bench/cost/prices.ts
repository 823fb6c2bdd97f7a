// List prices in USD without tax, East US, pay as you go, and the rules by which Azure bills. Pricing pages fill
// in their figures by script and could not be read as pages: each line says what the figure was read from,
// all of it stored copies, read on 2026-11-21. A region may differ by a quarter.

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
   * learn.microsoft.com/azure/azure-functions/flex-consumption-plan, "Billing". That overlapping executions
   * are billed once, and that nothing within a billed second is billed again, is not written there: it is
   * what the host reports (Azure/azure-functions-host, FlexConsumptionMetricsPublisher.cs).
   */
  leastActiveMs: 1_000,
  activeStepMs: 100,
} as const

/** The same page, and learn.microsoft.com/azure/azure-functions/functions-consumption-costs. */
export const consumption = {
  gbSecondUsd: 0.000016,
  executionUsd: 0.2 / million,
  freeGbSeconds: 400_000,
  freeExecutions: 1 * million,
  leastMs: 100,
  memoryStepMb: 128,
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
  /** The page of tables, locally redundant. */
  tableGbMonthUsd: 0.045,
} as const

/** https://azure.microsoft.com/pricing/details/monitor/, analytics logs; 2.30 to 2.76 by region. */
export const logs = {
  gbUsd: 2.3,
  /** 10^9 bytes, per billing account and month. learn.microsoft.com/azure/azure-monitor/logs/cost-logs */
  gbBytes: 1e9,
  freeGb: 5,
} as const
