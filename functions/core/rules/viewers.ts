// Who of the people that sign in may see the console: all fleets, some of them, or nothing.
import type { Access } from './access.ts'
import type { Config } from './config.ts'

/** A person as the host's sign-in proves them. All ids are GUIDs in lower case. */
interface Person {
  tenant: string
  user: string
  /** Ids of the groups that the sign-in names. */
  groups: readonly string[]
  name?: string
}

type Listing = Pick<Config, 'viewers' | 'fleets'>

/** Undefined if no list has the person or one of their groups. */
export function accessOfPerson({ viewers, fleets }: Listing, person: Person): Access | undefined {
  const { tenant, user, groups, name } = person
  const names = new Set([
    `entra:${tenant}/${user}`,
    ...groups.map((group) => `entra-group:${tenant}/${group}`),
  ])
  const isIn = (list: readonly string[] | undefined) => list?.some((one) => names.has(one)) ?? false
  const access = { by: 'entra', who: `${tenant}/${user}`, name } as const
  if (isIn(viewers)) return access
  const own = Object.keys(fleets).filter((fleet) => isIn(fleets[fleet]?.viewers))
  return own.length === 0 ? undefined : { ...access, fleets: own }
}

/** Whether any person may see the console. */
export function hasViewers({ viewers, fleets }: Listing): boolean {
  return viewers !== undefined || Object.values(fleets).some((fleet) => fleet.viewers !== undefined)
}
