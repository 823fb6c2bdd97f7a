// Which sessions of the console are over although their time has not come: their people signed out.

export interface EndedSession {
  id: string
  /** When it ends anyway, epoch ms. */
  endsAt: number
}

/** The sign-outs of one credential. */
export interface SignOuts {
  credential: string
  sessions: EndedSession[]
  /** All sessions that end by then are over, epoch ms. */
  before: number
}

/** Who signs in and out without end would fill the disk: a read session may last 400 days. */
const maxSessions = 100

export function isSignedOut(row: SignOuts | undefined, { id, endsAt }: EndedSession): boolean {
  return row !== undefined && (endsAt <= row.before || row.sessions.some((one) => one.id === id))
}

/** With too many, those that end first are over together, with all others of that time. */
export function withSignOut(
  row: SignOuts | undefined,
  credential: string,
  session: EndedSession,
  now: number,
): SignOuts {
  const left = (row?.sessions ?? []).filter(({ endsAt }) => endsAt > now)
  const sessions = [...left, session].sort((one, other) => one.endsAt - other.endsAt)
  const over = sessions.slice(0, -maxSessions).at(-1)
  return {
    credential,
    sessions: sessions.slice(-maxSessions),
    before: over?.endsAt ?? row?.before ?? 0,
  }
}
