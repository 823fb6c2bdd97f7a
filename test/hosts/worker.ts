// An entry for a runtime without Node, to prove that the relay's HTTP face does not need it.
import { createApp } from '../../functions/app.ts'

export default {
  fetch: (request: Request, environment: Parameters<typeof createApp>[0]) =>
    createApp(environment).fetch(request),
}
