// The relay's log in Azure Functions. Lines of an invocation go to its own logger, so that
// Application Insights links them to it; other lines go to `write`. That logger warns about lines
// after its handler returned. Lines of work that continues go to `write`, too, with the
// invocation's id.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { InvocationContext } from '@azure/functions'
import { createLog, type Fields, type Level, type Log } from '../../../shared/log.ts'

type Handler<Input, Result> = (input: Input, context: InvocationContext) => Result | Promise<Result>

interface AzureLog {
  log: Log
  /** Wraps a handler of any trigger: lines that it logs belong to its invocation. */
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
