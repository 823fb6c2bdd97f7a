// The file of settings that a package installs: every variable of the beacon, as a comment.
import { variables } from '../../../beacon/variables.ts'

/** The service sets it, because it may write nowhere else. */
const setByService = ['FOGHORN_STATE_DIR']

/** The defaults of these are paths of Linux; Windows has its own. */
const ofLinux = ['FOGHORN_HOOKS', 'FOGHORN_HOOK_SOCKET']

const heads = {
  linux: `# Settings of the Foghorn beacon. To set one, remove the "#" before its name. Then run:
#   systemctl enable --now foghorn-beacon    the first time
#   systemctl restart foghorn-beacon         after a change
#   foghorn-beacon --help                    lists all commands
# Upgrades keep this file. Only root can read it: it may contain the key of the fleet.`,
  windows: `# Settings of the Foghorn beacon. To set one, remove the "#" before its name. Then run:
#   Start-Service foghorn-beacon      the first time
#   Restart-Service foghorn-beacon    after a change
# Upgrades keep this file. Only administrators and the service can read it: it may contain the key
# of the fleet. Save it as UTF-8.`,
}

export function settingsFile(platform: keyof typeof heads): string {
  const left = platform === 'windows' ? [...setByService, ...ofLinux] : setByService
  const shown = Object.entries(variables).filter(([name]) => !left.includes(name))
  const entries = shown.map(([name, { usual, about }]) => {
    const lines = wrapped(about.replaceAll('`', '')).map((line) => `# ${line}`)
    return [...lines, `#${name}=${usual}`].join('\n')
  })
  const text = `${[heads[platform], ...entries].join('\n\n')}\n`
  return platform === 'windows' ? text.replaceAll('\n', '\r\n') : text
}

function wrapped(text: string, columns = 98): string[] {
  const lines = ['']
  for (const word of text.split(' ')) {
    const longer = `${lines.at(-1)} ${word}`.trim()
    if (longer.length <= columns) lines[lines.length - 1] = longer
    else lines.push(word)
  }
  return lines
}
