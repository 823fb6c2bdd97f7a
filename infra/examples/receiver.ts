import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { Webhook } from 'standardwebhooks'

const webhook = new Webhook(process.env.WEBHOOK_SECRET!)
const handled = new Set<string>() // keep these ids for a day or more, in your database
createServer(async (request, response) => {
  const headers = request.headers as Record<string, string>
  const verified = (body: string) => webhook.verify(body, headers) as { data: object }
  const event = await text(request)
    .then(verified)
    .catch(() => undefined)
  if (event !== undefined && !handled.has(headers['webhook-id']!)) {
    process.stdout.write(`${JSON.stringify(event.data)}\n`) // your part
    handled.add(headers['webhook-id']!)
  }
  response.writeHead(event === undefined ? 401 : 204).end()
}).listen(Number(process.env.PORT), '127.0.0.1')
