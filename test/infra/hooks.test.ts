// The examples of hooks, run by the real runner. Commands such as systemctl are played: they come
// first on PATH. The examples for Windows need Windows, so they are not run.
import {
  accessSync,
  chmodSync,
  constants,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { has } from '../../infra/vm/package/tools.ts'
import type { Hook } from '../../shared/report.ts'
import { anOrder, hookFolder, startRunner } from '../beacon/hooks/folder.ts'

const examples = join(import.meta.dirname, '../../infra/vm/hooks')

/** The example in a folder of its own, with these values in its first lines. */
function anExample(name: string, values: (directory: string) => Record<string, string>) {
  const place = hookFolder()
  for (const hook of ['prepare', 'restore'] as const) {
    let text = readFileSync(join(examples, name, hook), 'utf8')
    for (const [variable, value] of Object.entries(values(place.directory))) {
      const line = new RegExp(`^${variable}=.*$`, 'm')
      text = text.replace(line, `${variable}=${value}`)
    }
    place.write(hook, text)
  }
  const bin = join(place.directory, 'bin')
  mkdirSync(bin)
  const play = (command: string, lines: string) => {
    const file = join(bin, command)
    writeFileSync(file, `#!/bin/sh\n${lines.replaceAll('$NOTES', place.notes)}\n`)
    chmodSync(file, 0o755)
  }
  const { runner, ended } = startRunner({}, { PATH: `${bin}:${process.env.PATH}` }, place)
  let count = 0
  const run = (hook: Hook, limitMs = 20_000) => {
    count += 1
    runner.run(anOrder({ run: `${count}`, hook, limitMs }))
    return ended(`${count}`)
  }
  return { ...place, play, run }
}

describe('the load balancer', () => {
  function setUp() {
    const example = anExample('load-balancer', (directory) => ({
      health_file: join(directory, 'healthy'),
      notice_seconds: '0',
    }))
    const file = join(example.directory, 'healthy')
    writeFileSync(file, '')
    return { ...example, isHealthy: () => existsSync(file) }
  }

  test('sees the VM leave, and come back, however often each runs', async () => {
    const { play, run, isHealthy, noted } = setUp()
    // two clients, then one, then none
    play(
      'ss',
      'echo "$@" >> $NOTES; case $(wc -l < $NOTES) in 1) echo a; echo b;; 2) echo a;; esac',
    )
    expect(await run('prepare')).toMatchObject({
      state: 'succeeded',
      note: expect.stringContaining('No connection'),
    })
    expect(isHealthy()).toBe(false)
    expect(noted()).toHaveLength(3)
    expect(await run('prepare')).toMatchObject({ state: 'succeeded' })
    for (let i = 0; i < 2; i++) {
      expect(await run('restore')).toMatchObject({ state: 'succeeded' })
      expect(isHealthy()).toBe(true)
    }
  })

  test('with clients that stay, the VM is not ready, and the note says so', async () => {
    const { play, run, isHealthy } = setUp()
    play('ss', 'echo a; echo b')
    const note = expect.stringContaining('2 connections')
    expect(await run('prepare', 1_500)).toMatchObject({ state: 'failed', note })
    expect(isHealthy()).toBe(false)
  })
})

describe('the database', () => {
  function setUp() {
    const example = anExample('database', (directory) => ({ memory: join(directory, 'memory') }))
    const state = join(example.directory, 'state')
    const set = (text: string) => writeFileSync(state, text)
    set('active')
    example.play(
      'systemctl',
      `[ "$1" = is-active ] && exec grep -qx active ${state}
      echo "$*" >> $NOTES
      case $1 in start) printf active > ${state};; stop) printf inactive > ${state};; esac`,
    )
    return { ...example, set, state: () => readFileSync(state, 'utf8') }
  }

  test('is stopped, and started afterwards, however often each runs', async () => {
    const { run, state, noted } = setUp()
    for (let i = 0; i < 2; i++) {
      expect(await run('prepare')).toMatchObject({ state: 'succeeded' })
      expect(state()).toBe('inactive')
    }
    for (let i = 0; i < 2; i++) {
      expect(await run('restore')).toMatchObject({ state: 'succeeded' })
      expect(state()).toBe('active')
    }
    expect(noted()).toEqual(['stop postgresql', 'start postgresql'])
  })

  test('stays stopped if it was', async () => {
    const { run, set, state, noted } = setUp()
    set('inactive')
    await run('prepare')
    expect(await run('restore')).toMatchObject({ state: 'succeeded' })
    expect(state()).toBe('inactive')
    expect(noted()).toEqual([])
  })

  test('that does not start makes restore fail', async () => {
    const { run, play } = setUp()
    await run('prepare')
    play('systemctl', '[ "$1" != is-active ]')
    expect(await run('restore')).toMatchObject({ state: 'failed', exitCode: 1 })
  })
})

describe('Pacemaker', () => {
  const resource = (id: string, node: string) =>
    `<resource id="${id}" resource_agent="ocf:heartbeat:Dummy" role="Started">\n` +
    `<node name="${node}" id="1" cached="true"/>\n</resource>`

  /** As crm_mon and the others of Pacemaker 2.1 print it. `crm_mon` shows the next of these each time. */
  function setUp(strategy: string, ...shown: string[]) {
    const example = anExample('pacemaker', () => ({}))
    const { play, directory } = example
    const health = join(directory, 'health')
    play('crm_node', 'echo web_0')
    play(
      'crm_attribute',
      `case "$*" in *node-health-strategy*) echo ${strategy};; *) echo "$*" > ${health};; esac`,
    )
    shown.forEach((text, i) => {
      writeFileSync(join(directory, `shown-${i}`), text)
    })
    play(
      'crm_mon',
      `echo x >> $NOTES; n=$(($(wc -l < $NOTES) - 1))
      [ $n -lt ${shown.length} ] || n=${shown.length - 1}
      cat ${directory}/shown-$n`,
    )
    return { ...example, health: () => readFileSync(health, 'utf8').trim() }
  }

  test('moves everything off the node, and lets it come back', async () => {
    const both = resource('ip', 'web_0') + resource('db', 'web_1')
    const { run, health, noted } = setUp('custom', both, resource('ip', 'web_1'))
    const note = 'No resource of Pacemaker runs on web_0.'
    expect(await run('prepare')).toMatchObject({ state: 'succeeded', note })
    expect(health()).toBe('--node web_0 --name #health-azure --update -1000000')
    expect(noted()).toHaveLength(2)
    expect(await run('restore')).toMatchObject({ state: 'succeeded' })
    expect(health()).toBe('--node web_0 --name #health-azure --update 0')
  })

  test('names what stays', async () => {
    const { run } = setUp('custom', resource('ip', 'web_0'))
    const note = expect.stringContaining('These resources still run on web_0: ip')
    expect(await run('prepare', 1_500)).toMatchObject({ state: 'failed', note })
  })

  test('does not rely on a health that the cluster ignores', async () => {
    const { run } = setUp('none', '')
    const note = expect.stringContaining('set it to custom')
    expect(await run('prepare')).toMatchObject({ state: 'failed', exitCode: 1, note })
  })

  test.skipIf(!has('crm_attribute'))('on a real cluster file (skipped without it)', async () => {
    const { run, play, directory } = anExample('pacemaker', () => ({}))
    const cib = join(directory, 'cib.xml')
    writeFileSync(cib, clusterWith('web_0'))
    play('crm_node', 'echo web_0')
    for (const name of ['crm_attribute', 'crm_mon']) {
      play(name, `CIB_file=${cib} exec /usr/sbin/${name} "$@"`)
    }
    const still = expect.stringContaining('These resources still run on web_0: ip')
    expect(await run('prepare', 3_000)).toMatchObject({ state: 'failed', note: still })
    expect(readFileSync(cib, 'utf8')).toContain('name="#health-azure" value="-1000000"')
    writeFileSync(cib, clusterWith('web_1'))
    expect(await run('prepare')).toMatchObject({ state: 'succeeded' })
    expect(await run('restore')).toMatchObject({ state: 'succeeded' })
    expect(readFileSync(cib, 'utf8')).toContain('name="#health-azure" value="0"')
  })
})

/** Two nodes, and a resource that runs on one. */
function clusterWith(active: string): string {
  const ran =
    '<lrm id="1"><lrm_resources><lrm_resource id="ip" type="Dummy" class="ocf" provider="heartbeat">' +
    '<lrm_rsc_op id="ip_last_0" operation_key="ip_start_0" operation="start" ' +
    'crm_feature_set="3.15.0" transition-key="1:1:0:x" transition-magic="0:0;1:1:0:x" call-id="5" ' +
    'rc-code="0" op-status="0" interval="0"/></lrm_resource></lrm_resources></lrm>'
  const states = ['web_0', 'web_1'].map(
    (name, i) =>
      `<node_state id="${i + 1}" uname="${name}" in_ccm="true" crmd="online" join="member" ` +
      `expected="member">${name === active ? ran : ''}</node_state>`,
  )
  return `<cib validate-with="pacemaker-3.5" epoch="1" num_updates="0" admin_epoch="0"><configuration>
<crm_config><cluster_property_set id="c">
<nvpair id="c-h" name="node-health-strategy" value="custom"/></cluster_property_set></crm_config>
<nodes><node id="1" uname="web_0"/><node id="2" uname="web_1"/></nodes>
<resources><primitive id="ip" class="ocf" provider="heartbeat" type="Dummy"/></resources>
<constraints/></configuration><status>${states.join('')}</status></cib>`
}

test('each example has both hooks, and those for Linux can be executed', () => {
  for (const name of readdirSync(examples)) {
    const ending = name === 'windows' ? '.ps1' : ''
    expect(readdirSync(join(examples, name)).sort()).toEqual([
      `prepare${ending}`,
      `restore${ending}`,
    ])
    if (ending !== '') continue
    for (const hook of ['prepare', 'restore'])
      accessSync(join(examples, name, hook), constants.X_OK)
  }
})
