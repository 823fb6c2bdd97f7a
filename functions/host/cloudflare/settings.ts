// Reads the variables and secrets of a Worker, and the configuration that was uploaded with it.
import { FoghornError } from '../../../shared/errors.ts'
import { mistakesOnCloudflare } from '../../config/hosts.ts'
import { type Common, type Environment, readEnvironment } from '../settings.ts'

/** Throws FoghornError `settings_invalid` with all mistakes, one a line. */
export function readSettings(bindings: Record<string, unknown>, configText: string): Common {
  const environment = readTexts(bindings)
  const file = () => ({ name: 'foghorn.config.json', text: configText })
  const settings = readEnvironment(environment, () => ({}), file)
  const mistakes = mistakesOnCloudflare(settings.config, environment)
  if (mistakes.length === 0) return settings
  const lines = mistakes.map((mistake) => `in foghorn.config.json: ${mistake}`)
  throw new FoghornError('settings_invalid', lines.join('\n'))
}

/** Bindings that are not text are objects and queues, for example. */
function readTexts(bindings: Record<string, unknown>): Environment {
  const texts = Object.entries(bindings).filter(([, value]) => typeof value === 'string')
  return Object.fromEntries(texts) as Environment
}
