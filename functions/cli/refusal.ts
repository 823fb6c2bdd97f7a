import { parseJson } from '../../shared/json.ts'

/** The error for an answer that a command cannot use: what the relay says, or its status. */
export async function refusalOf(url: string, answer: Response): Promise<Error> {
  const body = parseJson(await answer.text()) as { detail?: unknown } | undefined
  const detail = typeof body?.detail === 'string' ? body.detail : `it answered ${answer.status}`
  return new Error(`The relay at ${url} refused: ${detail}`)
}
