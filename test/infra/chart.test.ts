// The chart for Kubernetes. What Helm makes of it is in the repository, so most of this needs no Helm.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { drainVariables } from '../../beacon/kubernetes/settings.ts'
import { variables } from '../../beacon/variables.ts'
import {
  chart,
  helmHere,
  manifestFile,
  manifests,
  noHelm,
  renderManifest,
  runHelm,
} from '../../infra/helm.ts'
import packageJson from '../../package.json' with { type: 'json' }
import { drainRights } from '../simulator/kubernetes.ts'

const root = join(import.meta.dirname, '../..')
const timeout = 60_000
const relayUrl = 'relayUrl=https://foghorn.example.com,fleet=prod'

// biome-ignore lint/suspicious/noExplicitAny: the types are checked below, by Kubernetes' own
type Manifest = Record<string, any>

const read = (text: string) => parseAllDocuments(text).map((one) => one.toJS() as Manifest)
const stored = Object.keys(manifests).flatMap((name) =>
  read(readFileSync(manifestFile(name), 'utf8')),
)
const podOf = (kind: string) => stored.find((one) => one.kind === kind)!.spec.template.spec
const daemon = podOf('DaemonSet')

test('the versions are those of the product', () => {
  const { version, appVersion } = parse(readFileSync(join(chart, 'Chart.yaml'), 'utf8'))
  expect([version, appVersion]).toEqual([packageJson.version, packageJson.version])
})

/** The places of these kinds in `kubernetes-types`, which is made from Kubernetes' OpenAPI. */
const modules: Record<string, string> = {
  ...{ ServiceAccount: 'core/v1', ConfigMap: 'core/v1', Service: 'core/v1' },
  ...{ PersistentVolumeClaim: 'core/v1', DaemonSet: 'apps/v1', Deployment: 'apps/v1' },
  ...{ ClusterRole: 'rbac/v1', ClusterRoleBinding: 'rbac/v1', NetworkPolicy: 'networking/v1' },
  PodDisruptionBudget: 'policy/v1',
}

/** What the compiler says of these objects as Kubernetes' own types. */
function typeMistakesIn(objects: Manifest[]): string {
  const lines = objects.map((object, i) => {
    const { kind } = object
    const type = `import('kubernetes-types/${modules[kind]}.d.ts').${kind}`
    return `export const o${i}: ${type} = ${JSON.stringify(object)}`
  })
  const folder = mkdtempSync(join(root, 'test/infra/typed-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  writeFileSync(join(folder, 'objects.ts'), lines.join('\n'))
  const options = { noEmit: true, strict: true, skipLibCheck: true, types: [] }
  const modern = { module: 'preserve', moduleResolution: 'bundler', target: 'es2022' }
  const config = { compilerOptions: { ...options, ...modern }, files: ['objects.ts'] }
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(config))
  const compiler = join(root, 'node_modules/typescript/bin/tsc')
  return spawnSync(process.execPath, [compiler, '-p', folder], { encoding: 'utf8' }).stdout
}

test('each object has the fields and types of Kubernetes, and no others', { timeout }, () => {
  expect(typeMistakesIn(stored)).toBe('')
})

test('the drain has the rights that it uses, and no more', () => {
  const { rules } = stored.find(({ kind }) => kind === 'ClusterRole')!
  const granted = rules.flatMap(({ resources, verbs }: Manifest) =>
    resources.flatMap((resource: string) => verbs.map((verb: string) => `${verb} ${resource}`)),
  )
  expect(granted).toEqual(drainRights)
})

test('the beacon has no token, and the drain no key', () => {
  const [beacon, drain] = daemon.containers
  expect(daemon.automountServiceAccountToken).toBe(false)
  const mounts = (one: Manifest) => one.volumeMounts.map(({ name }: Manifest) => name)
  expect([mounts(beacon), mounts(drain)]).toEqual([
    ['state', 'socket'],
    ['socket', 'account'],
  ])
  expect(JSON.stringify(drain)).not.toContain('secretKeyRef')
})

test.each(['DaemonSet', 'Deployment'])(
  '%s: restricted, but for the network of the node',
  (kind) => {
    const { securityContext, containers } = podOf(kind)
    expect(securityContext).toMatchObject({
      ...{ runAsNonRoot: true, runAsUser: 65532, seccompProfile: { type: 'RuntimeDefault' } },
    })
    for (const container of containers) {
      expect(container.securityContext).toEqual({
        ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
        capabilities: { drop: ['ALL'] },
      })
    }
    const hostKinds = podOf(kind).volumes.filter((one: Manifest) => 'hostPath' in one)
    expect(hostKinds).toEqual([])
  },
)

test('only settings that the beacon knows are set', () => {
  const known = { ...variables, ...drainVariables }
  for (const { env } of daemon.containers) {
    for (const { name } of env)
      if (name !== 'NODE_EXTRA_CA_CERTS') expect(known).toHaveProperty(name)
  }
})

describe('with Helm', () => {
  test.for(Object.keys(manifests))('%s.yaml is what Helm makes', { timeout }, (name, { skip }) => {
    const helm = helmHere() ?? skip(noHelm)
    expect(readFileSync(manifestFile(name), 'utf8')).toBe(renderManifest(helm, name))
  })

  test('the linter has nothing to say', { timeout }, ({ skip }) => {
    const helm = helmHere() ?? skip(noHelm)
    const { status, stdout } = runHelm(helm, ['lint', '--strict', chart, '--set', relayUrl])
    expect(stdout).toContain('0 chart(s) failed')
    expect(status).toBe(0)
  })

  test.for([
    ['fleet=prod', "at '/relayUrl'"],
    [`${relayUrl},fleet=`, "at '/fleet'"],
    [`${relayUrl},fleetKey.secretName=`, 'write fleetKey.secretName'],
    [`${relayUrl},beacon.environment.FOGHORN_AUDIENCE=api://f`, 'write fleetKey.secretName: ""'],
    [`${relayUrl},image.registry=https://r.example`, "at '/image/registry'"],
    [`${relayUrl},drain.by=kill`, "must be one of 'evict', 'delete'"],
    [`${relayUrl},drain.gracePeriod=3`, 'gracePeriod'],
    [`${relayUrl},relay.enabled=true,relay.replicas=2`, "at '/relay/database/secretName'"],
  ])('wrong values: %s', { timeout }, ([values, said], { skip }) => {
    const helm = helmHere() ?? skip(noHelm)
    const { status, stderr } = runHelm(helm, ['template', 'foghorn', chart, '--set', values!])
    expect(status).toBe(1)
    expect(stderr).toContain(said)
  })

  test('what an owner may set stands where Kubernetes reads it', { timeout }, ({ skip }) => {
    const helm = helmHere() ?? skip(noHelm)
    const volume = { name: 'own', configMap: { name: 'own' } }
    const mount = { name: 'own', mountPath: '/etc/own' }
    const own = {
      extraVolumes: [volume],
      extraVolumeMounts: [mount],
      environment: { NAME: 'value' },
    }
    const affinity = { podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } }
    const values = {
      ...{ relayUrl: 'https://foghorn.example.com', fleet: 'prod', affinity },
      ...{ caSecret: { name: 'my-ca', key: 'ca.crt' }, podAnnotations: { a: 'b' }, beacon: own },
      relay: { enabled: true, affinity, service: { annotations: { a: 'b' } }, ...own },
      networkPolicy: { egressPorts: [587] },
    }
    const words = ['template', 'foghorn', chart, '--set-json']
    const set = Object.entries(values).map(([key, value]) => `${key}=${JSON.stringify(value)}`)
    const made = read(runHelm(helm, [...words, set.join(',')]).stdout)
    expect(typeMistakesIn(made)).toBe('')
    const of = (kind: string) => made.find((one) => one.kind === kind)!
    for (const kind of ['DaemonSet', 'Deployment']) {
      const { spec } = of(kind).spec.template
      const [container] = spec.containers
      expect(spec).toMatchObject({ affinity })
      expect(spec.volumes).toEqual(
        expect.arrayContaining([volume, expect.objectContaining({ name: 'ca' })]),
      )
      expect(container.volumeMounts).toContainEqual(mount)
      const trusted = { name: 'NODE_EXTRA_CA_CERTS', value: '/etc/foghorn-ca/ca.crt' }
      expect(container.env).toEqual(
        expect.arrayContaining([trusted, { name: 'NAME', value: 'value' }]),
      )
    }
    expect(of('Service').metadata.annotations).toEqual({ a: 'b' })
    const [{ ports }] = of('NetworkPolicy').spec.egress
    expect(ports.map(({ port }: Manifest) => port)).toEqual([53, 53, 443, 587])
  })

  test('two relays share a database: no volume, no gap, not on one node', { timeout }, ({
    skip,
  }) => {
    const helm = helmHere() ?? skip(noHelm)
    const database =
      'relay.enabled=true,relay.replicas=2,relay.database.secretName=foghorn-database'
    const made = read(
      runHelm(helm, ['template', 'foghorn', chart, '--set', `${relayUrl},${database}`]).stdout,
    )
    expect(typeMistakesIn(made)).toBe('')
    const of = (kind: string) => made.find((one) => one.kind === kind)!
    expect(made.map(({ kind }) => kind)).not.toContain('PersistentVolumeClaim')
    const { replicas, strategy, selector, template } = of('Deployment').spec
    expect([replicas, strategy]).toEqual([2, { rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } }])
    expect(template.spec.volumes.map(({ name }: Manifest) => name)).not.toContain('data')
    expect(template.spec.containers[0].env).toEqual([
      {
        name: 'FOGHORN_DATABASE',
        valueFrom: { secretKeyRef: { name: 'foghorn-database', key: 'FOGHORN_DATABASE' } },
      },
    ])
    const rules = template.spec.affinity.podAntiAffinity
    const [rule] = rules.preferredDuringSchedulingIgnoredDuringExecution
    expect(rule.podAffinityTerm.labelSelector).toEqual(selector)
    expect(of('PodDisruptionBudget').spec).toEqual({ maxUnavailable: 1, selector })
    const [{ ports }] = of('NetworkPolicy').spec.egress
    expect(ports.map(({ port }: Manifest) => port)).toContain(5432)
  })

  test('without the drain there are no rights and no token', { timeout }, ({ skip }) => {
    const helm = helmHere() ?? skip(noHelm)
    const words = ['template', 'foghorn', chart, '--set', `${relayUrl},drain.enabled=false`]
    const objects = read(runHelm(helm, words).stdout)
    expect(objects.map(({ kind }) => kind)).toEqual(['DaemonSet'])
    expect(objects[0]!.spec.template.spec.containers).toHaveLength(1)
  })

  test('deletion needs another right than eviction', { timeout }, ({ skip }) => {
    const helm = helmHere() ?? skip(noHelm)
    const words = ['template', 'foghorn', chart, '--set', `${relayUrl},drain.by=delete`]
    const role = read(runHelm(helm, words).stdout).find(({ kind }) => kind === 'ClusterRole')!
    expect(JSON.stringify(role.rules)).toContain('"pods"],"verbs":["list","delete"]')
    expect(JSON.stringify(role.rules)).not.toContain('eviction')
  })
})
