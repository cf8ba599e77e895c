// The whole status of a cluster. It is made anew in each pass; what it keeps from the one before are the times at which
// conditions became what they are.

import { isKnownCondition } from '../../kinds/cluster/conditions.ts'
import type { StoreClusterCondition } from '../../kinds/cluster/conditions.ts'
import type { OperationType } from '../../kinds/cluster/operation.ts'
import type { ClusterHealth, ClusterPhase, StoreClusterStatus } from '../../kinds/cluster/status.ts'
import { isoTime } from '../pass/memory.ts'
import type { StoreView } from '../observed/store-view.ts'
import { isAway } from '../pass/pass.ts'
import type { Pass } from '../pass/pass.ts'
import { CONDITIONS } from './conditions.ts'
import type { Ending } from './ending.ts'
import { etcdStatusOf, largestCapacityOf, membersOf, volumesOf } from './objects.ts'
import { byVersion, specProblem } from './spec-verdict.ts'

const API_PORT = 8080

export function statusOf(ending: Ending): StoreClusterStatus {
  const { pass } = ending
  const { observed, memory } = pass
  const { cluster, desired } = observed
  const conditions = conditionsOf(ending)
  const etcd = etcdStatusOf(pass)
  const largestCapacity = largestCapacityOf(pass)
  return {
    observedGeneration: cluster.generation,
    phase: phaseOf(ending, conditions),
    ...healthOf(pass),
    ...versionOf(pass),
    ...targetOf(pass),
    configHash: desired.template.digest,
    selector: selectorOf(cluster.name),
    ...countsOf(pass),
    members: membersOf(pass),
    volumes: volumesOf(pass),
    ...(largestCapacity === undefined ? {} : { largestCapacity }),
    ...(memory.grownSize === undefined ? {} : { grownSize: memory.grownSize }),
    ...(memory.lastGrownAt === undefined ? {} : { lastGrownAt: memory.lastGrownAt }),
    ...(etcd === undefined ? {} : { etcd }),
    ...(memory.operation === undefined ? {} : { operation: withMessage(ending, memory.operation) }),
    endpoints: { client: `http://${cluster.name}.${cluster.namespace}.svc:${API_PORT}` },
    conditions,
  }
}

/** The version that nodes are to run; never a refused one, which a spec without a version would then get. */
function targetOf(pass: Pass): Pick<StoreClusterStatus, 'targetVersion' | 'image'> {
  const { cluster, desired } = pass.observed
  const { targetVersion, image } = cluster.status ?? {}
  const isRefused = specProblem(pass)?.reason === 'UnsupportedVersionChange'
  if (isRefused && targetVersion !== undefined && image !== undefined) {
    return { targetVersion, image }
  }
  return { targetVersion: desired.template.version, image: desired.template.image }
}

type Operation = NonNullable<Pass['memory']['operation']>

function withMessage({ waiting }: Ending, operation: Operation): Operation {
  const { message: _, ...rest } = operation
  return waiting === undefined || waiting.message === ''
    ? rest
    : { ...rest, message: waiting.message }
}

function selectorOf(name: string): string {
  return `app.kubernetes.io/name=quarry,app.kubernetes.io/instance=${name},app.kubernetes.io/component=node`
}

function countsOf({ observed, memory }: Pass): Pick<StoreClusterStatus, 'nodes' | 'readyNodes'> {
  const { set, pods } = observed.nodes
  const ready = pods.filter((pod) => pod.isReady && !pod.isDeleting).length
  const updated = pods.filter(({ revision }) => revision === set?.updateRevision).length
  return {
    nodes: { desired: memory.replicas, current: pods.length, ready, updated },
    readyNodes: `${ready}/${memory.replicas}`,
  }
}

const HEALTH: Readonly<Record<StoreView['health'], ClusterHealth>> = {
  healthy: 'Healthy',
  degraded: 'Degraded',
  unhealthy: 'Unhealthy',
  error: 'Error',
}

function healthOf({
  observed: { store },
}: Pass): Pick<StoreClusterStatus, 'health' | 'healthMessage'> {
  if (store === 'unreachable') return { health: 'Unknown' }
  const healthMessage = store.health === 'healthy' ? undefined : store.message
  const health = HEALTH[store.health]
  return healthMessage === undefined ? { health } : { health, healthMessage }
}

/** The lowest one that runs. While no node answers, what was known last stays. */
function versionOf({ observed: { store, cluster } }: Pass): Pick<StoreClusterStatus, 'version'> {
  const nodes = store === 'unreachable' ? [] : store.nodes.filter((node) => !isAway(node))
  const [lowest] = nodes.flatMap(({ version }) => version ?? []).toSorted(byVersion)
  const version = lowest ?? cluster.status?.version
  return version === undefined ? {} : { version }
}

/** The time of a condition moves only when its status does. */
function conditionsOf(ending: Ending): StoreClusterCondition[] {
  const { cluster, nowMs } = ending.pass.observed
  const before = cluster.status?.conditions ?? []
  return Object.entries(CONDITIONS).flatMap(([type, teller]) => {
    const told = teller(ending)
    if (told === undefined) return []
    const last = before.find((condition) => condition.type === type)
    const lastTransitionTime =
      last !== undefined && last.status === told.status ? last.lastTransitionTime : isoTime(nowMs)
    const { generation: observedGeneration } = cluster
    return [{ type, ...told, observedGeneration, lastTransitionTime }].filter(isCondition)
  })
}

/** Each teller tells reasons of its own type: the table's type says so, and `Object.entries` loses it. */
function isCondition(told: {
  readonly type: string
  readonly reason: string
}): told is StoreClusterCondition {
  return isKnownCondition(told)
}

function phaseOf({ pass }: Ending, conditions: readonly StoreClusterCondition[]): ClusterPhase {
  const { observed, memory } = pass
  if (observed.cluster.deletedAtMs !== undefined) return 'Deleting'
  if (memory.isHibernated && memory.operation === undefined) return 'Hibernated'
  if (memory.replicas === 0) return 'Pending'
  const isDegraded = conditions.some(({ type, status }) => type === 'Degraded' && status === 'True')
  if (isDegraded) return 'Degraded'
  const type = memory.operation?.type
  return type === undefined ? 'Running' : (PHASES[type] ?? 'Updating')
}

const PHASES: Partial<Record<OperationType, ClusterPhase>> = {
  Create: 'Pending',
  ScaleUp: 'Scaling',
  ScaleDown: 'Scaling',
}
