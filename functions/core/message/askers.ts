// Who is asked to decide by a message, and how they can.
import type { Proof } from '../event/proof.ts'

/**
 * Who is asked to decide: the readers of the message, by its link; `pressers`, by its buttons; or
 * only people whom the configuration lists.
 */
export type Askers = Readers | Listed

type Readers = 'readers' | 'pressers'

/** How listed people can decide. Without any way, only the API decides. */
interface Listed {
  /** Names of services whose messages have buttons for them. */
  services: string[]
  /** The askers can sign in on the page. */
  signedIn: boolean
}

/** Whether everyone who reads the message may decide. */
export function areReaders(askers: Askers): askers is Readers {
  return typeof askers === 'string'
}

/**
 * `names`: the approvers, as `how:who`. `services`: those whose messages have buttons, by proof. `hasSignIn`:
 * whether the page can prove who somebody is.
 */
export function listAskers(
  names: string[],
  services: Partial<Record<Proof, string>>,
  hasSignIn: boolean,
): Listed {
  const has = (how: string) => names.some((name) => name.startsWith(`${how}:`))
  const own = Object.entries(services).filter(([how]) => has(how))
  return { services: own.map(([, service]) => service), signedIn: hasSignIn && has('entra') }
}

export function whoDecides({ services, signedIn }: Listed): string {
  const only = 'Only listed approvers can decide'
  const ways = [
    ...(services.length > 0 ? [`use the buttons in ${services.join(' or ')}`] : []),
    ...(signedIn ? ['open the page and sign in'] : []),
  ]
  return ways.length > 0
    ? `${only}: ${ways.join(', or ')}.`
    : 'No listed approver may decide for all affected VMs. An owner can, with the admin key or a token.'
}
