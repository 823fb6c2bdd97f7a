// The relay's log inside Azure Functions: an entry of an invocation names it and goes to its own
// logger, by which Application Insights finds it again; any other goes to `write`. The surprise:
// that logger complains about lines after its handler returned, and work that a request began may
// outlive it. Such lines go to `write` too, and still say where they come from.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { InvocationContext } from '@azure/functions'
import { createLog, type Fields, type Level, type Log } from '../../../shared/log.ts'

type Handler<Input, Result> = (input: Input, context: InvocationContext) => Result | Promise<Result>

interface AzureLog {
  log: Log
  /** The same handler, of any trigger; what is logged while it runs belongs to its invocation. */
  during<Input, Result>(handler: Handler<Input, Result>): Handler<Input, Result>
}

export function createAzureLog(options: Parameters<typeof createLog>[0]): AzureLog {
  const current = new AsyncLocalStorage<{ context: InvocationContext; over: boolean }>()
  const write = (line: string, level: Level) => {
    const invocation = current.getStore()
    if (invocation === undefined || invocation.over) options.write(line, level)
    else invocation.context[level](line)
  }
  const lines = createLog({ ...options, write })
  const at = (level: Level) => (event: string, fields?: Fields) => {
    lines[level](event, { invocationId: current.getStore()?.context.invocationId, ...fields })
  }
  return {
    log: { debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') },
    during: (handler) => (input, context) => {
      const invocation = { context, over: false }
      return current.run(invocation, async () => {
        try {
          return await handler(input, context)
        } finally {
          invocation.over = true
        }
      })
    },
  }
}
