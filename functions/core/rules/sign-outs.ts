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

/** A client that signs in and out without end must not fill the disk: a read session may last 400 days. */
export const maxSessions = 500

export function isSignedOut(row: SignOuts | undefined, { id, endsAt }: EndedSession): boolean {
  return row !== undefined && (endsAt <= row.before || row.sessions.some((one) => one.id === id))
}

/** Above the limit, `before` takes the place of the sessions that end first, and of all that end by then. */
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
