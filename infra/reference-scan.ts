// Finds names in the text of source files: variables, log events, error codes. It reads plain text,
// so each name must be a literal where it is used.

/** Names of environment variables that hosts read. */
export function settingsIn(source: string): Set<string> {
  const read = /\benvironment\.([A-Z_]+)|\b(FOGHORN_[A-Z_]*[A-Z])\b|\b(WEBSITE_AUTH_ENABLED)\b/g
  const named = [...source.matchAll(read)].map(([, ...names]) => names.find(Boolean)!)
  const storage = source.includes("'AzureWebJobsStorage'") ? ['AzureWebJobsStorage'] : []
  return new Set([...named, ...storage])
}

export interface LogEvent {
  name: string
  level: string
}

/** Names and levels of log lines, sorted by name. */
export function eventsIn(source: string): LogEvent[] {
  const found = new Map<string, string>()
  const add = (name: string, level: string) => found.set(name, found.get(name) ?? level)
  for (const [, level, name] of source.matchAll(/\blog\.(\w+)\(\s*'([a-z_]+)'/g)) add(name!, level!)
  // the log line of a commit
  for (const [, name] of source.matchAll(/log: \{\s*event: '(\w+)'/g)) add(name!, 'info')
  // the log line of a decision on a channel's health
  for (const [, name] of source.matchAll(/\blog: '(channel_\w+)'/g)) {
    add(name!, name!.endsWith('_recovered') ? 'info' : 'error')
  }
  for (const [, name, rest] of source.matchAll(
    /(?:refusals|retryLog)\.note\(\s*'([a-z_]+)'([^)]*)/g,
  )) {
    add(name!, rest!.includes("'info'") ? 'info' : 'warn')
  }
  for (const [, name] of source.matchAll(/createTroubleLog\([\w.]+, '(\w+)'\)/g)) {
    add(`${name}_failing`, 'warn')
    add(`${name}_recovered`, 'info')
  }
  for (const [, list] of source.matchAll(/const stepEvents = \{([^}]*)\}/g)) {
    for (const [, name] of list!.matchAll(/'(\w+)'/g)) add(name!, 'info')
  }
  return [...found].map(([name, level]) => ({ name, level })).sort(byName)
}

function byName(one: LogEvent, other: LogEvent): number {
  return one.name < other.name ? -1 : 1
}

/** Error codes of HTTP answers. */
export function codesIn(source: string): Set<string> {
  const forms = [
    /problem\(c, \d+, '([a-z_]+)'/g,
    /\bcode: '([a-z_]+)'/g,
    /refused\(\d+, '([a-z_]+)'/g,
    /Code = '([a-z_]+)'/g,
    // why the API refused a decision
    /^ {2}(already_approved|already_declined|started|ended|too_many_vms|nothing_to_decide):/gm,
  ]
  const codes = forms.flatMap((form) => [...source.matchAll(form)].map(([, name]) => name!))
  return new Set(codes)
}
