// The variables of `foghorn-beacon hooks --kubernetes`, beside those of every runner of hooks.
import * as z from 'zod/mini'
import { type Environment, path, readTable, seconds, text, variable } from '../variables.ts'
import type { DrainSettings } from './passes.ts'

const accountFolder = '/var/run/secrets/kubernetes.io/serviceaccount'
const pauseLabel = 'kubernetes.azure.com/upgrade-status=paused'
const freezeSeconds = { least: 0, most: 3_600, usual: 60 }
const graceSeconds = { least: 1, most: 86_400 }
const selectorMost = 1_000
const ways = ['evict', 'delete'] as const
const bareWays = ['keep', 'move'] as const

const inPod = 'run this in a pod, where Kubernetes sets it'
const isPort = (value: string) =>
  /^\d{1,5}$/.test(value) && Number(value) >= 1 && Number(value) <= 65_535
const one = <T extends string>(of: readonly [T, ...T[]]) =>
  z._default(
    z.enum(of, { error: ({ input }) => `is "${input}": write ${of.join(' or ')}` }),
    of[0] as never,
  )

const table = {
  FOGHORN_NODE_NAME: variable(
    'Required. The name of the node, by the downward API: `spec.nodeName`.',
    text(
      'write the name of the node; in a pod by valueFrom: { fieldRef: { fieldPath: spec.nodeName } }',
      (value) => /^[a-z0-9][a-z0-9.-]{0,252}$/.test(value),
    ),
  ),
  FOGHORN_DRAIN_FREEZE_SECONDS: variable(
    `A Freeze that is shorter, or of unknown length, moves no pod. From ${freezeSeconds.least} to ${freezeSeconds.most}.`,
    seconds(freezeSeconds),
    freezeSeconds.usual,
  ),
  FOGHORN_DRAIN_SELECTOR: variable(
    'A label selector. Only pods that match it are moved.',
    z._default(
      text(`write a selector such as app!=cache, in up to ${selectorMost} characters`, (value) => {
        return value.length <= selectorMost
      }),
      '',
    ),
    'all pods',
  ),
  FOGHORN_DRAIN_GRACE_SECONDS: variable(
    'How long a pod may take to end. No pod gets longer than what is left until 30 s before NotBefore.',
    z.optional(
      z.pipe(
        text(
          `write seconds from ${graceSeconds.least} to ${graceSeconds.most}, or leave it out`,
          (value) => Number(value) >= graceSeconds.least && Number(value) <= graceSeconds.most,
        ),
        z.transform((value: string) => Math.round(Number(value))),
      ),
    ),
    "the pod's own",
  ),
  FOGHORN_DRAIN_BY: variable(
    '`evict` obeys disruption budgets, `delete` does not.',
    one(ways),
    ways[0],
  ),
  FOGHORN_DRAIN_BARE_PODS: variable(
    'What happens to pods that no controller would start again elsewhere: `keep` or `move`.',
    one(bareWays),
    bareWays[0],
  ),
  FOGHORN_DRAIN_PAUSE_LABEL: variable(
    'While the node has this label (`KEY` or `KEY=VALUE`), it is not drained, and does not count as prepared.',
    z._default(
      text('write a label such as maintenance=paused', (value) => /^[^=\s]+(=\S*)?$/.test(value)),
      pauseLabel,
    ),
    pauseLabel,
  ),
  FOGHORN_SERVICE_ACCOUNT_DIR: variable(
    'The folder of the token for the API server.',
    path(accountFolder),
    accountFolder,
  ),
  KUBERNETES_SERVICE_HOST: variable(
    'The API server. Kubernetes sets it.',
    text(inPod, (value) => /^[\w.:-]+$/.test(value)),
  ),
  KUBERNETES_SERVICE_PORT: variable(
    'The port of the API server. Kubernetes sets it.',
    text(inPod, isPort),
  ),
}

/** The variables by name, for the documentation. */
export const drainVariables = table

export interface KubernetesSettings {
  origin: string
  accountFolder: string
  nodeName: string
  drain: DrainSettings
}

export function readKubernetesSettings(
  environment: Environment,
): KubernetesSettings | { problems: string[] } {
  const problems: string[] = []
  const names = Object.keys(table) as (keyof typeof table)[]
  const values = readTable(table, names, environment, problems)
  if (problems.length > 0) return { problems }
  const { KUBERNETES_SERVICE_HOST: host, KUBERNETES_SERVICE_PORT: port } = values
  return {
    origin: `https://${host.includes(':') ? `[${host}]` : host}:${port}`,
    accountFolder: values.FOGHORN_SERVICE_ACCOUNT_DIR,
    nodeName: values.FOGHORN_NODE_NAME,
    drain: {
      freezeMs: values.FOGHORN_DRAIN_FREEZE_SECONDS,
      selector: values.FOGHORN_DRAIN_SELECTOR,
      graceSeconds: values.FOGHORN_DRAIN_GRACE_SECONDS,
      by: values.FOGHORN_DRAIN_BY,
      movesBare: values.FOGHORN_DRAIN_BARE_PODS === 'move',
      pauseLabel: values.FOGHORN_DRAIN_PAUSE_LABEL,
    },
  }
}
