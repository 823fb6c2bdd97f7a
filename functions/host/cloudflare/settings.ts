// Reads the variables and secrets of a Worker, and the configuration that was uploaded with it.
import { FoghornError } from '../../../shared/errors.ts'
import { isShipChannel } from '../../core/delivery/delivery.ts'
import { type Common, type Environment, readEnvironment } from '../settings.ts'

/** Set by `npm run dev:cloudflare` only: this runtime can reach private networks. */
export const developmentName = 'FOGHORN_DEVELOPMENT'

/** Throws FoghornError `settings_invalid` with all mistakes, one a line. */
export function readSettings(bindings: Record<string, unknown>, configText: string): Common {
  const environment = textsOf(bindings)
  const file = () => ({ name: 'foghorn.config.json', text: configText })
  const settings = readEnvironment(environment, () => ({}), file)
  const { config } = settings
  const isShipped = Object.entries(config.channels).some(
    ([name, one]) => isShipChannel(name) && !('key' in one),
  )
  if ((config.azure !== undefined || isShipped) && config.azure?.clientSecret === undefined) {
    const why =
      'a Worker has no managed identity, and no files; write "tenantId", "clientId" and "clientSecret"'
    throw new FoghornError('settings_invalid', `in foghorn.config.json: azure: ${why}`)
  }
  const key = (['allowNetworks', 'tokenNetworks'] as const).find((one) => config[one].length > 0)
  if (key === undefined || environment[developmentName]) return settings
  const remedy = `remove "${key}": a Worker reaches public addresses only`
  throw new FoghornError('settings_invalid', `in foghorn.config.json: ${key}: ${remedy}`)
}

/** Bindings that are not text are objects and queues, for example. */
function textsOf(bindings: Record<string, unknown>): Environment {
  const texts = Object.entries(bindings).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(texts) as Environment
}
