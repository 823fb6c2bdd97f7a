// How the relay knows who decided: a service, a sign-in or a credential. To add one, add it to this table.

interface Traits {
  /** For a list, as a word. */
  way: string
  /** What it proves, for people. */
  proves: string
  /** Only for people: what `place` in `place/user` is, and what proves the name. */
  person?: { place: string; by: string }
}

/** A proof that decisions of a person carry, or a credential. The keys are stored. */
const proofTraits = {
  link: { way: 'link', proves: 'link only: anyone who had the link could have decided' },
  slack: {
    way: 'Slack',
    proves: 'confirmed by Slack',
    person: { place: 'team', by: 'signed by Slack' },
  },
  entra: {
    way: 'person',
    proves: 'signed in with Microsoft Entra',
    person: { place: 'tenant', by: 'signed in' },
  },
  admin: { way: 'admin key', proves: 'had the admin key' },
  token: { way: 'token', proves: 'had this token of the API' },
  policy: { way: 'rule', proves: 'a rule in the configuration' },
} satisfies Record<string, Traits>

export type Proof = keyof typeof proofTraits
export const proofs = Object.keys(proofTraits) as Proof[]

export function readProof(how: Proof): Traits {
  return proofTraits[how]
}
