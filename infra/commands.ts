// All commands of `foghorn`. `npm run NAME` calls the same.
import { type Entry, runProgram } from '../functions/cli/program.ts'
import { ownerCommands, untilStopped } from './owner-commands.ts'

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
  'For owners of a relay': ownerCommands,
  'To deploy': {
    bundle: ['writes the files to deploy', async () => (await import('./bundle.ts')).bundle],
    'build:beacon': [
      'writes the beacon as executables',
      async () => (await import('./build-beacon.ts')).buildBeacons,
    ],
    image: [
      'makes the container images of beacon and relay',
      async () => (await import('./image/main.ts')).image,
    ],
    release: [
      'makes everything that is installed: packages, relays, checksums',
      async () => (await import('./release/main.ts')).release,
    ],
  },
  'To develop Foghorn': {
    'dev:cloudflare': [
      'runs the relay for Cloudflare in workerd',
      async () =>
        untilStopped(
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
    mutate: [
      'makes small mistakes in a file, and says which no test sees',
      async () => (await import('../test/mutate/main.ts')).mutate,
    ],
    without: [
      'takes a feature out of a copy, and says whether all else works',
      async () => (await import('../test/without/main.ts')).without,
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

export async function main(words: string[]): Promise<void> {
  const help = {
    first: 'foghorn COMMAND [--help], or npm run COMMAND [-- --help]',
    last: 'npm test runs the tests, npm run beacon the beacon.',
  }
  await runProgram({ groups, help }, words)
}
