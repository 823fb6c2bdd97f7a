// Resolves the names of channels for hosts on Node. The system's resolver knows /etc/hosts and search
// domains, but libuv gives it two threads, and a name whose server is silent holds one for 10 s
// (`timeout` and `attempts` in resolv.conf). So each name is first asked of c-ares, which needs no
// thread. If the server answers for one kind of address and never for the other, that answer counts.
// Names that get no answer there share one thread, and the other serves everybody else. A server may
// answer c-ares and then fall silent. So if the system is slow, its last answer counts, or that of c-ares.
import { type LookupAddress, type LookupAllOptions, lookup, promises } from 'node:dns'
import { setTimeout as sleep } from 'node:timers/promises'

export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

type NameServers = Pick<promises.Resolver, 'resolve4' | 'resolve6'>

/** Time for each name server, until the next one is asked. */
const serverMs = 1_500
/** A name waits this long for its turn, as undici does for a connection. The next attempt asks anew. */
const maxTurnMs = 10_000
/** The system reads /etc/hosts, and asks the name server, in this time. */
const systemMs = 500
/** Names whose last answer is remembered: enough for all channels. */
const maxAnswers = 1_100
/** With so many questions under way, the system is not asked. */
const maxAsked = 32

export function createResolve(
  servers: NameServers = new promises.Resolver({ timeout: serverMs, tries: 1 }),
  system: Resolve = lookup,
  now = () => performance.now(),
): Resolve {
  const underWay = new Map<string, Promise<LookupAddress[]>>()
  let lastSilent: Promise<unknown> = Promise.resolve()

  let asked = 0
  /** What the system answered last: /etc/hosts may have other addresses than the name server. */
  const answers = new Map<string, LookupAddress[]>()
  const ask = (hostname: string, options: LookupAllOptions) =>
    new Promise<LookupAddress[]>((resolve, reject) => {
      asked += 1
      system(hostname, options, (error, addresses) => {
        asked -= 1
        if (error) return reject(error)
        if (answers.size >= maxAnswers) answers.clear()
        answers.set(hostname, addresses)
        resolve(addresses)
      })
    })

  /** `found`: by c-ares. */
  const askSoon = (hostname: string, options: LookupAllOptions, found: LookupAddress[]) => {
    const known = answers.get(hostname) ?? found
    if (asked >= maxAsked) return known
    return Promise.race([ask(hostname, options), sleep(systemMs, known, { ref: false })])
  }

  /** Asks for a name after the other silent ones. */
  const inTurn = (hostname: string, options: LookupAllOptions) => {
    const until = now() + maxTurnMs
    const own = lastSilent.then(() => {
      if (now() >= until) throw noAnswer(hostname)
      return ask(hostname, options)
    })
    lastSilent = own.catch(() => {})
    return own
  }

  const resolveOne = async (hostname: string, options: LookupAllOptions) => {
    if (hostname === 'localhost') return ask(hostname, options)
    const { isSilent, found } = await askServers(servers, hostname)
    if (found.length === 0) return isSilent ? inTurn(hostname, options) : ask(hostname, options)
    return isSilent ? found : askSoon(hostname, options, found)
  }

  return (hostname, options, done) => {
    const known = underWay.get(hostname)
    const addresses =
      known ?? resolveOne(hostname, options).finally(() => underWay.delete(hostname))
    underWay.set(hostname, addresses)
    addresses.then(
      (found) => done(null, found),
      (error: NodeJS.ErrnoException) => done(error, []),
    )
  }
}

function noAnswer(hostname: string): NodeJS.ErrnoException {
  const error = new Error(`no name server answers for ${hostname}`)
  return Object.assign(error, { code: 'EAI_AGAIN' })
}

/** The system asks for both kinds of addresses, so this does too. `isSilent`: a question got no answer. */
async function askServers(
  servers: NameServers,
  hostname: string,
): Promise<{ isSilent: boolean; found: LookupAddress[] }> {
  const asked = await Promise.allSettled([servers.resolve4(hostname), servers.resolve6(hostname)])
  const isSilent = asked.some((one) => one.status === 'rejected' && one.reason?.code === 'ETIMEOUT')
  const found = asked.flatMap((one, i) => {
    const addresses = one.status === 'fulfilled' ? one.value : []
    return addresses.map((address): LookupAddress => ({ address, family: i === 0 ? 4 : 6 }))
  })
  return { isSilent, found }
}
