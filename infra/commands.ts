// All commands of `foghorn`. `npm run NAME` calls the same.
import { type Command, command, exitCodes, runCommand } from '../functions/cli/command.ts'
import { didYouMean } from '../functions/schema/suggest.ts'
import { giveAddressesTime } from '../shared/addresses.ts'

type Entry = [summary: string, load: () => Promise<Command>]

/** Starts a program that a signal ends, and that takes its settings from the environment. */
const program = (about: string, load: () => Promise<unknown>) =>
  command({
    usage: '',
    about,
    run: load,
  })

const groups: Record<string, Record<string, Entry>> = {
  'To try Foghorn': {
    demo: [
      'plays one event on this machine, from first sight to completion',
      async () => (await import('../test/demo/main.ts')).demo,
    ],
    simulator: [
      'simulates the IMDS of several VMs',
      async () => (await import('../test/simulator/main.ts')).simulator,
    ],
    preview: [
      'shows every message, on one page',
      async () => (await import('../test/preview/main.ts')).preview,
    ],
  },
  'For owners of a relay': {
    start: [
      'runs the relay on this machine',
      async () =>
        program(
          `
Runs the relay with an embedded SQLite, until it is stopped. docs/install-relay-node.md shows how.

Environment: FOGHORN_CONFIG (foghorn.config.json) is the configuration, FOGHORN_DATA (.foghorn) the
folder of the database, PORT (7071) and HOST (127.0.0.1) where it listens. FOGHORN_LINK_KEY signs
links. FOGHORN_ADMIN_KEY opens the API and the console. FOGHORN_LOG_LEVEL is info.`,
          async () => (await import('../functions/host/node/main.ts')).run(),
        ),
    ],
    'check-config': [
      'finds mistakes in a configuration, and dry-runs an event',
      async () => (await import('../functions/cli/check-config.ts')).checkConfig,
    ],
    drill: [
      'sends a test event through the real channels',
      async () => (await import('../functions/cli/drill.ts')).drill,
    ],
    listen: [
      'prints every step of every event as it happens',
      async () => (await import('../functions/cli/listen.ts')).listen,
    ],
    backup: [
      'stores a copy of the database',
      async () => (await import('../functions/cli/backup.ts')).backup,
    ],
    restore: [
      'puts a backup in the place of the database',
      async () => (await import('../functions/cli/restore.ts')).restore,
    ],
    export: [
      'stores all events as JSON lines',
      async () => (await import('../functions/cli/export.ts')).exportEvents,
    ],
  },
  'To deploy': {
    bundle: ['writes the files to deploy', async () => (await import('./bundle.ts')).bundle],
    'build:beacon': [
      'writes the beacon as executables',
      async () => (await import('./build-beacon.ts')).buildBeacons,
    ],
    package: [
      'packs the beacon as deb, rpm and zip',
      async () => (await import('./vm/package/main.ts')).packBeacons,
    ],
  },
  'To develop Foghorn': {
    'dev:cloudflare': [
      'runs the relay for Cloudflare in workerd',
      async () =>
        program(
          `
Runs the relay for Cloudflare Workers on this machine, in the real workerd, until it is stopped. It
takes the same variables as npm start, and keeps its state in FOGHORN_DATA.`,
          () => import('./cloudflare/dev.ts'),
        ),
    ],
    sim: [
      'simulates worlds in which everything fails',
      async () => (await import('../test/sim/main.ts')).sim,
    ],
    bench: ['measures', async () => (await import('../test/bench/main.ts')).bench],
    screenshots: [
      'takes pictures of every page',
      async () => (await import('../test/preview/screenshots.ts')).screenshots,
    ],
    generate: ['writes the generated files', async () => (await import('./generate.ts')).generate],
  },
}

export const commands = Object.assign({}, ...Object.values(groups)) as Record<string, Entry>

const help = `foghorn COMMAND [--help], or npm run COMMAND [-- --help]

${Object.entries(groups)
  .map(([group, commands]) => `${group}:\n${Object.entries(commands).map(lineOf).join('\n')}`)
  .join('\n\n')}

npm test runs the tests, npm run beacon the beacon.
`

function lineOf([name, [summary]]: [string, Entry]): string {
  return `  ${name.padEnd(15)}${summary}`
}

export async function main([name, ...words]: string[]): Promise<void> {
  giveAddressesTime()
  if (name === undefined || name === '--help' || name === '-h') {
    process.stdout.write(help)
  } else if (Object.hasOwn(commands, name)) {
    process.exitCode = await runCommand(name, await commands[name]![1](), words)
  } else {
    const meant = didYouMean(name, Object.keys(commands))
    process.stderr.write(`there is no command "${name}"; foghorn --help lists all${meant}\n`)
    process.exitCode = exitCodes.wrong
  }
}
