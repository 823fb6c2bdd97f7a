// The Worker in front of the relay's object. Cloudflare runs it near the sender, in as many
// processes as it likes. It refuses junk, and sends all other requests to the one object.
import { messageOf } from '../../../shared/errors.ts'
import { createLog, type Log } from '../../../shared/log.ts'
import { createFront } from '../../http/front.ts'
import { misconfigured } from '../misconfigured.ts'
import { commonParts } from '../parts.ts'
import { allSecrets } from '../settings.ts'
import { relayObject, type Write } from './relay-object.ts'
import { readSettings } from './settings.ts'

interface Stub {
  fetch(request: Request): Promise<Response>
  sweep(): Promise<void>
}

interface Bindings extends Record<string, unknown> {
  /** infra/cloudflare/wrangler.jsonc names it. */
  RELAY: { idFromName(name: string): unknown; get(id: unknown): Stub }
}

type Front = ReturnType<typeof createFront>

/** The exports of the Worker's main module. */
export function createWorker(configText: string, write: Write) {
  let front: Front | undefined
  return {
    RelayObject: relayObject(configText, write),
    handlers: {
      fetch(request: Request, bindings: Bindings): Response | Promise<Response> {
        try {
          front ??= openFront(bindings, configText, write)
        } catch (error) {
          logTo(write).error('relay_misconfigured', { error: messageOf(error) })
          return misconfigured(request)
        }
        return front.fetch(request)
      },
      async scheduled(_event: unknown, bindings: Bindings): Promise<void> {
        await findStub(bindings).sweep()
      },
    },
  }
}

function openFront(bindings: Bindings, configText: string, write: Write): Front {
  const settings = readSettings(bindings, configText)
  const { level } = settings
  const log = createLog({ write, now: Date.now, level, secrets: allSecrets(settings) })
  return createFront(commonParts(settings, log), (request) => findStub(bindings).fetch(request))
}

function findStub({ RELAY }: Bindings): Stub {
  return RELAY.get(RELAY.idFromName('relay'))
}

function logTo(write: Write): Log {
  return createLog({ write, now: Date.now, level: 'info' })
}
