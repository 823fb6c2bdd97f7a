import type { World } from './world.ts'

/** What the tests of the API know of a feature. */
export interface ApiFeature {
  /** Makes one thing of the fleet, with a token of the scope `manage`. */
  make(world: World, token: string, fleet: string): Promise<{ id: string }>
  /** Addresses that list such things. */
  lists: string[]
  /** Each address with the scope that it needs, and a request about a fleet and a thing. */
  addresses: Record<
    string,
    { scope: 'read' | 'manage'; about(fleet: string, id: string): { path: string; body?: unknown } }
  >
  /** Asks for each kind of answer. `ask` compares the answer with the description of its operation. */
  answers(
    ask: (
      operation: string,
      asked: { path: string; method?: string; body?: unknown },
      // biome-ignore lint/suspicious/noExplicitAny: as the description says
    ) => Promise<any>,
  ): Promise<void>
  /** Bodies for an address, at a limit and beyond it. */
  bodies: Record<string, { path: string; limits: object[] }>
}
