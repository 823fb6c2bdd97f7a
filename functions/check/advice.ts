// Warns about settings that are valid but probably unintended: the place, the effect, and what to
// write instead. Warns only if it is certain.
import type { Config } from '../config/config.ts'
import { adviseOnKeys, adviseOnNetworks, adviseOnPublicUrl } from './addresses.ts'
import { adviseOnApprovers } from './approvers.ts'
import { adviseOnBeaconless, adviseOnSubscriptions } from './beaconless.ts'
import { adviseOnChannels } from './channels.ts'
import { adviseOnOwners, adviseOnSignIn } from './owners.ts'
import { adviseOnPolicy } from './policy.ts'
import { adviseOnRoutes } from './routes.ts'

/** One sentence each, `path: what; what to write`. */
export function adviseOn(config: Config): string[] {
  return [
    ...adviseOnPublicUrl(config),
    ...adviseOnKeys(config),
    ...adviseOnOwners(config),
    ...adviseOnSignIn(config),
    ...adviseOnChannels(config),
    ...adviseOnNetworks(config),
    ...adviseOnPolicy(config),
    ...adviseOnRoutes(config),
    ...adviseOnBeaconless(config),
    ...adviseOnSubscriptions(config),
    ...adviseOnApprovers(config),
  ]
}
