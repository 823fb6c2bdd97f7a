// Microsoft's own parser of the Kusto Query Language. It is compiled from C#, and puts what it has into the
// global scope.
import { createRequire } from 'node:module'

const require = createRequire(import.meta.url)

/** What a query gets wrong, if these are the tables: by name, `Column:type, Column:type`. */
export function mistakesIn(query: string, tables: Record<string, string>): string[] {
  const { KustoCode, GlobalState, Symbols } = language()
  const symbols = Object.entries(tables).map(
    ([name, columns]) => new Symbols.TableSymbol.$ctor7(name, `(${columns})`, null),
  )
  const database = new Symbols.DatabaseSymbol.ctor('database', symbols)
  const globals = GlobalState.Default.WithDatabase(database)
  const found = KustoCode.ParseAndAnalyze(query, globals).GetDiagnostics()
  return Array.from({ length: found.Count }, (_, i) => found.getItem(i).Message)
}

function language() {
  require('@kusto/language-service-next/bridge.js')
  require('@kusto/language-service-next/Kusto.Language.Bridge.js')
  // biome-ignore lint/suspicious/noExplicitAny: its types are no module
  return (globalThis as any).Kusto.Language
}
