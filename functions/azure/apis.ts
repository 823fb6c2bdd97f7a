// What the relay reads and does in Azure from outside the VMs.
import type { AzureAccess } from '../core/rules/config.ts'
import type { AzureTokens } from '../notify/notifier.ts'
import type { AzureApis } from '../use-cases/relay.ts'
import { createArmRequest } from './request.ts'
import { createResourceGraph } from './resource-graph.ts'
import { createResourceManager } from './resource-manager.ts'
import type { Fetch } from './tokens.ts'

interface Options {
  /** Default: a timer. */
  wait?: (ms: number) => Promise<void>
  access: AzureAccess
  tokens: AzureTokens
  fetch: Fetch
  now: () => number
}

export function createAzureApis(options: Options): AzureApis {
  const { access, now, wait = waited } = options
  const request = createArmRequest(options)
  return {
    manager: createResourceManager({ access, request, now }),
    graph: createResourceGraph({ request, now, wait }),
    subscriptions: access.subscriptions,
  }
}

function waited(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
