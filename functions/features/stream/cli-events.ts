// Reads a stream of server-sent events: html.spec.whatwg.org/multipage/server-sent-events.html

/** `id` is the last one, also if it came without data. */
interface ServerSent {
  id: string | undefined
  data: string | undefined
}

/** If there is more without an empty line, it is no stream of a relay. */
const maxBlockLength = 1_000_000

/** Throws if a block is too long. */
export async function* serverSent(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSent> {
  const decoder = new TextDecoder()
  let text = ''
  for await (const chunk of chunks) {
    text += decoder.decode(chunk, { stream: true })
    const blocks = text.split(/\r?\n\r?\n/)
    text = blocks.pop()!
    if (text.length > maxBlockLength)
      throw new Error('the answer is no stream of server-sent events')
    for (const block of blocks) yield listFields(block)
  }
}

function listFields(block: string): ServerSent {
  const values = (name: string) =>
    block
      .split(/\r?\n/)
      .filter((line) => line.startsWith(`${name}:`))
      .map((line) => line.slice(name.length + 1).replace(/^ /, ''))
  const data = values('data')
  return { id: values('id').at(-1), data: data.length === 0 ? undefined : data.join('\n') }
}
