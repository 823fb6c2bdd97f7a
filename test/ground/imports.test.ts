// The architecture as a test: who may import whom, and which calls belong to which files. A failure
// names the file, what is banned there, and what to use instead.
import { readFileSync } from 'node:fs'
import { glob } from 'node:fs/promises'
import { dirname, join, normalize } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'

const root = fileURLToPath(new URL('../..', import.meta.url))

interface Source {
  path: string
  text: string
  /** Project paths for relative imports, package names otherwise. */
  imports: string[]
}

const sources = await readSources()

async function readSources(): Promise<Source[]> {
  const found: Source[] = []
  const patterns = ['beacon/**/*.ts', 'functions/**/*.ts', 'shared/**/*.ts', 'test/**/*.ts']
  for await (const path of glob(patterns, { cwd: root })) {
    const text = readFileSync(join(root, path), 'utf8')
    found.push({ path: path.replaceAll('\\', '/'), text, imports: importsOf(path, text) })
  }
  return found
}

function importsOf(path: string, text: string): string[] {
  const pattern =
    /(?:^|\n)\s*(?:import|export)\s[^'"]*?from\s+'([^']+)'|(?:^|\n)import\s+'([^']+)'|import\('([^']+)'\)/g
  return [...text.matchAll(pattern)].map((match) => {
    const name = match[1] ?? match[2] ?? match[3] ?? ''
    return name.startsWith('.') ? normalize(join(dirname(path), name)) : name
  })
}

interface Rule {
  /** Files it holds for. */
  files: RegExp
  /** Files it does not hold for, because their name says so. */
  except?: RegExp
  banned: (name: string) => boolean
  instead: string
}

const isPackage = (name: string) => !/^(beacon|functions|shared|test|infra)\//.test(name)
const inFolders = (name: string, ...allowed: string[]) =>
  allowed.some((folder) => name === folder || name.startsWith(`${folder}/`))

const rules: Record<string, Rule> = {
  'shared imports the schema library and itself': {
    files: /^shared\//,
    banned: (name) => !inFolders(name, 'zod', 'shared'),
    instead: 'plain TypeScript, WebCrypto or zod',
  },
  'beacon imports shared and itself, Node and the schema library': {
    files: /^beacon\//,
    banned: (name) => !inFolders(name, 'beacon', 'shared', 'zod', 'package.json') && !isNode(name),
    instead: 'shared/ for what both sides need; the beacon has next to no dependencies',
  },
  'functions never imports beacon': {
    files: /^functions\//,
    banned: (name) => inFolders(name, 'beacon'),
    instead: 'shared/, the contract of the two',
  },
  'core imports shared, itself and the rules of features': {
    files: /^functions\/core\//,
    except: /^functions\/core\/(hash|rules\/address)\.ts$/,
    banned: (name) =>
      !inFolders(
        name,
        ...['functions/core', 'functions/features/rules.ts', 'functions/features/alerts.ts'],
        'functions/features/planners.ts',
        'shared',
      ),
    instead: 'values handed in as arguments; the core knows no adapter, library or host',
  },
  'hash.ts imports the hash library only': {
    files: /^functions\/core\/hash\.ts$/,
    banned: (name) => !inFolders(name, '@noble/hashes'),
    instead: 'the hash of functions/core/hash.ts, which only takes text',
  },
  'address.ts imports the library of addresses only': {
    files: /^functions\/core\/rules\/address\.ts$/,
    banned: (name) => !inFolders(name, 'ipaddr.js'),
    instead: 'the functions of functions/core/rules/address.ts, which only take text',
  },
  'use cases import core and the interfaces, never an adapter': {
    files: /^functions\/use-cases\//,
    banned: (name) =>
      !inFolders(
        name,
        ...['functions/use-cases', 'functions/core', 'functions/links', 'shared', 'zod'],
        ...['functions/schema', 'functions/identity/identity.ts', 'functions/features/loads.ts'],
        ...['functions/features/hearers.ts', 'functions/features/jobs.ts'],
        'functions/features/targets.ts',
        ...['functions/notify/notifier.ts', 'functions/notify/presses.ts'],
        ...['functions/store/store.ts', 'functions/store/small-rows.ts'],
      ),
    instead: 'the Relay that the host hands over (functions/use-cases/relay.ts)',
  },
  'the HTTP face imports use cases, pages and interfaces, never an adapter': {
    files: /^functions\/(http\/|app\.ts)/,
    banned: (name) =>
      !inFolders(
        name,
        ...['functions/http', 'functions/use-cases', 'functions/core', 'functions/links'],
        'functions/features/faces.ts',
        ...['functions/pages', 'functions/schema', 'shared', 'hono', 'zod'],
        ...['functions/identity/identity.ts', 'functions/identity/principal.ts'],
        'functions/identity/bot.ts',
        ...['functions/notify/presses.ts', 'functions/store/store.ts'],
      ),
    instead: 'the Relay that the host hands over (functions/use-cases/relay.ts)',
  },
  'the HTTP face is for app.ts alone': {
    files: /^functions\//,
    except: /^functions\/(app\.ts|http\/|host\/|features\/(faces\.ts|\w+\/(http|console)))/,
    banned: (name) => inFolders(name, 'functions/http'),
    instead: 'a use case, which both may call',
  },
  'beacons, people and owners have addresses of their own': {
    files: /^functions\/http\/(beacons|people)\//,
    banned: (name) =>
      inFolders(name, 'functions/http') &&
      !/^functions\/http\/[^/]+\.ts$/.test(name) &&
      !inFolders(name, 'functions/http/beacons', 'functions/http/people'),
    instead: 'a file directly in functions/http/',
  },
  'links import core, shared and the keys of events': {
    files: /^functions\/links\//,
    banned: (name) =>
      !inFolders(name, 'functions/links', 'functions/core', 'functions/store/store.ts', 'shared'),
    instead: 'values handed in by a use case',
  },
  'stores import their interfaces, their own folder, core and shared': {
    files: /^functions\/store\//,
    banned: (name) =>
      !isPackage(name) && !inFolders(name, 'functions/store', 'functions/core', 'shared'),
    instead: "the interface in store.ts and core's types",
  },
  'the rows of Azure and those of SQLite share their interface only': {
    files: /^functions\/store\/azure\//,
    banned: (name) => /^functions\/store\/(sqlite|durable)/.test(name),
    instead: 'functions/store/rows.ts, the interface of both',
  },
  'the parts of the configuration import core, shared, the schema library and what kinds there are':
    {
      files: /^functions\/config\//,
      banned: (name) =>
        !inFolders(
          name,
          ...['functions/config', 'functions/schema', 'functions/core', 'shared', 'zod'],
          'functions/notify/registry.ts',
        ),
      instead: 'values handed in by functions/config/config.ts',
    },
  'checks of values import core, shared and the schema library': {
    files: /^functions\/schema\//,
    banned: (name) =>
      !inFolders(
        name,
        ...['functions/schema', 'functions/core', 'shared', 'zod'],
        ...['functions/features/schemas.ts', 'functions/features/alerts.ts'],
      ),
    instead: 'values as arguments',
  },
  'notifiers import their interface, core, shared and what a schema is made of': {
    files: /^functions\/notify\//,
    banned: (name) =>
      !isPackage(name) &&
      !inFolders(
        name,
        ...['functions/notify', 'functions/core', 'functions/schema', 'shared'],
        'functions/features/channel-groups.ts',
      ),
    instead: "the interface in notifier.ts and core's types",
  },
  'what one service needs stays in its folder and the lists': {
    files: /^functions\//,
    except: /^functions\/notify\/((index|apps|all-presses)\.ts|slack\/)/,
    banned: (name) => inFolders(name, 'functions/notify/slack'),
    instead: 'the interfaces in functions/notify/notifier.ts and presses.ts',
  },
  'identity imports its interface, shared, the types of the configuration and the schema library': {
    files: /^functions\/identity\//,
    banned: (name) =>
      !inFolders(
        name,
        ...['functions/identity', 'functions/core/rules/config.ts', 'shared', 'zod', 'jose'],
      ),
    instead: 'the interface in identity.ts, or values handed in by the host',
  },
  'jose stays in the file named for what it checks': {
    files: /^(beacon|functions|shared)\//,
    except: /^functions\/identity\/entra\.ts$/,
    banned: (name) => inFolders(name, 'jose'),
    instead: 'relay.identity',
  },
  'check-config imports core, the configuration and what a dry run plays': {
    files: /^functions\/check\//,
    banned: (name) =>
      !inFolders(
        name,
        ...['functions/check', 'functions/core', 'functions/config', 'functions/schema', 'shared'],
        ...['functions/use-cases/relay.ts', 'functions/use-cases/decision-buttons.ts'],
        'functions/notify/registry.ts',
      ),
    instead: 'the configuration as an argument',
  },
  'only the commands check a configuration': {
    files: /^functions\//,
    except: /^functions\/(check|cli)\//,
    banned: (name) => inFolders(name, 'functions/check'),
    instead: 'core, if the relay itself needs it',
  },
  'pages import core, the rules of features, shared and the template library': {
    files: /^functions\/pages\//,
    banned: (name) =>
      !inFolders(
        name,
        ...['functions/pages', 'functions/core', 'functions/features/rules.ts', 'shared'],
        'hono/html',
      ),
    instead: 'values handed in by functions/http/',
  },
  'the program in the browser imports only itself': {
    files: /^functions\/pages\/browser\//,
    banned: (name) => !inFolders(name, 'functions/pages/browser'),
    instead: 'what the page carries in its data attributes',
  },
  'the server imports the program in the browser as the text that is embedded': {
    files: /^(beacon|functions|shared)\//,
    except: /^functions\/pages\/browser\//,
    banned: (name) => inFolders(name, 'functions/pages/browser') && !name.endsWith('/embedded.ts'),
    instead: 'a small file beside browser/ that both sides share',
  },
  'Node stays in the files named for it': {
    files: /^functions\//,
    except:
      /^functions\/(host\/(node\/|(config-file|small-file|parts)\.ts|azure\/(main|log|requests)\.ts)|store\/sqlite-file\.ts|notify\/(undici|resolve|smtp|ciphers)\.ts|cli\/|features\/\w+\/(node|cli)\.ts)/,
    banned: isNode,
    instead: 'WebCrypto and other globals that every host has, or a value from the host',
  },
  'undici stays in the file named for it': {
    files: /^(beacon|functions)\//,
    except: /^functions\/notify\/undici\.ts$/,
    banned: (name) => name === 'undici',
    instead: 'relay.send',
  },
  'vendors stay with their hosts': {
    files: /^functions\//,
    except: /^functions\/(host|store)\/(azure|cloudflare)\//,
    banned: (name) => name.startsWith('@azure/') || name.startsWith('cloudflare:'),
    instead: 'the interfaces in store.ts and relay.ts',
  },
  'nothing imports a host or a test': {
    files: /^(beacon|functions|shared)\//,
    except: /^functions\/(host|features)\//,
    banned: (name) => inFolders(name, 'functions/host', 'test'),
    instead: 'what the host composes: move the shared part out of host/',
  },
  'nothing imports a command for owners': {
    files: /^(beacon|functions|shared)\//,
    except: /^functions\/(cli|features)\//,
    banned: (name) => inFolders(name, 'functions/cli'),
    instead: 'what the command decides with: move it out of cli/',
  },
}

function isNode(name: string): boolean {
  return name.startsWith('node:')
}

interface Ban {
  files: RegExp
  except?: RegExp
  call: RegExp
  instead: string
}

const bans: Record<string, Ban> = {
  'the core has no clock': {
    files: /^functions\/core\//,
    call: /\bDate\.now\(|\bnew Date\(\)|\bperformance\./,
    instead: 'the argument `now`',
  },
  'the core has no randomness': {
    files: /^functions\/core\//,
    call: /\bMath\.random\(|\brandomUUID\(|\bgetRandomValues\(/,
    instead: 'the argument `random`',
  },
  'the core does not wait or do I/O': {
    files: /^functions\/core\//,
    call: /\bawait\b|\basync\b|\bPromise\b|\bfetch\(|\bsetTimeout\(/,
    instead: 'values; waiting belongs to the use cases',
  },
  'use cases take clock and randomness from the relay': {
    files:
      /^functions\/(app|(use-cases|http|links|identity|pages|check|config|schema)\/[\w/-]+|notify\/(?!undici|smtp)[\w/-]+)\.ts$/,
    except: /^functions\/pages\/browser\//,
    call: /\bDate\.now\(|\bMath\.random\(|\bsetTimeout\(/,
    instead: 'relay.now(), relay.random(), or a due time in the store',
  },
  'the environment is read in hosts and in main': {
    files: /^(beacon|functions|shared)\//,
    except: /^(functions\/host\/|beacon\/(main|runtime)\.ts|functions\/cli\/)/,
    call: /\bprocess\.env\b/,
    instead: 'an argument',
  },
  'the beacon has the small form of the schema library': {
    files: /^(beacon|shared)\//,
    call: /from 'zod'|import (type )?\{ z \} from/,
    instead: "import * as z from 'zod/mini': the executable takes 1 MB less memory",
  },
  'the beacon loads large modules of Node where it uses them': {
    files: /^beacon\//,
    call: /\bimport (?!type )[^']*from 'node:(?!fs'|os'|path')|\bprocess\.(stdout|stderr)\b/,
    instead:
      'process.getBuiltinModule in the function that needs it, and `terminal` of cli.ts to print',
  },
  'nothing prints but the log': {
    files: /^(beacon|functions|shared)\//,
    except: /^functions\/cli\//,
    call: /\bconsole\.\w+\(/,
    instead: 'the log',
  },
}

const withoutComments = (text: string) => text.replace(/\/\*[\s\S]*?\*\/|(^|\s)\/\/.*$/gm, '$1')

describe('imports', () => {
  test.each(Object.entries(rules))('%s', (_name, { files, except, banned, instead }) => {
    const concerned = sources.filter(({ path }) => files.test(path) && !except?.test(path))
    const faults = concerned.flatMap(({ path, imports }) =>
      imports.filter(banned).map((name) => `${path}: "${name}" is banned here, use ${instead}`),
    )
    expect(faults).toEqual([])
  })

  test('there are no cycles', () => {
    const graph = new Map(
      sources.map(({ path, imports }) => [path, imports.filter((n) => !isPackage(n))]),
    )
    const cycles: string[] = []
    const visit = (path: string, trail: string[]) => {
      if (trail.includes(path)) cycles.push([...trail.slice(trail.indexOf(path)), path].join(' → '))
      else if (!done.has(path)) {
        for (const next of graph.get(path) ?? []) visit(next, [...trail, path])
        done.add(path)
      }
    }
    const done = new Set<string>()
    for (const path of graph.keys()) visit(path, [])
    expect(cycles).toEqual([])
  })
})

describe('calls', () => {
  test.each(Object.entries(bans))('%s', (_name, { files, except, call, instead }) => {
    const concerned = sources.filter(({ path }) => files.test(path) && !except?.test(path))
    const faults = concerned.flatMap(({ path, text }) => {
      const found = call.exec(withoutComments(text))
      return found === null ? [] : [`${path}: "${found[0]}" is banned here, use ${instead}`]
    })
    expect(faults).toEqual([])
  })
})

test('the rules see the files that they are about', () => {
  expect(sources.length).toBeGreaterThan(50)
  for (const { files } of [...Object.values(rules), ...Object.values(bans)]) {
    expect(sources.some(({ path }) => files.test(path))).toBe(true)
  }
})
