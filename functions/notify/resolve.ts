// Resolves the names of channels for hosts on Node. The system's resolver knows /etc/hosts and search
// domains, but libuv gives it two threads, and a name whose server is silent holds one for 10 s
// (`timeout` and `attempts` in resolv.conf). So each name is first asked of c-ares, which needs no
// thread. Names that time out there share one thread, and the other serves everybody else.
import { type LookupAddress, type LookupAllOptions, lookup, promises } from 'node:dns'

export type Resolve = (
  hostname: string,
  options: LookupAllOptions,
  done: (error: NodeJS.ErrnoException | null, addresses: LookupAddress[]) => void,
) => void

/** The part of `dns.promises.Resolver` that is used. */
type Asks = Pick<promises.Resolver, 'resolve4' | 'resolve6'>

/** For each name server, until the next one is asked. */
const askMs = 1_500

export function createResolve(
  asks: Asks = new promises.Resolver({ timeout: askMs, tries: 1 }),
  system: Resolve = lookup,
): Resolve {
  const underWay = new Map<string, Promise<LookupAddress[]>>()
  let lastSilent: Promise<unknown> = Promise.resolve()

  const ask = (hostname: string, options: LookupAllOptions) =>
    new Promise<LookupAddress[]>((resolve, reject) => {
      system(hostname, options, (error, addresses) => (error ? reject(error) : resolve(addresses)))
    })

  const inTurn = (hostname: string, options: LookupAllOptions) => {
    const own = lastSilent.then(() => ask(hostname, options))
    lastSilent = own.catch(() => {})
    return own
  }

  const resolveOne = async (hostname: string, options: LookupAllOptions) => {
    const answers = (await isSilent(asks, hostname)) ? inTurn : ask
    return answers(hostname, options)
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

/** Whether a name server gives no answer. The system asks for both kinds of addresses, too. */
async function isSilent(asks: Asks, hostname: string): Promise<boolean> {
  if (hostname === 'localhost') return false
  const answers = await Promise.allSettled([asks.resolve4(hostname), asks.resolve6(hostname)])
  return answers.some((one) => one.status === 'rejected' && one.reason?.code === 'ETIMEOUT')
}
