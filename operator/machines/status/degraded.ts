// What needs somebody's attention: the most urgent thing alone.

import { worstPod } from '../operations/create.ts'
import { isAtMaxSize, mayAutoGrow } from '../objects/auto-grow.ts'
import { hasLostClaim } from '../objects/members.ts'
import { isAway } from '../pass/pass.ts'
import { tell } from './ending.ts'
import type { Ending, Told } from './ending.ts'
import { etcdReady } from './parts-ready.ts'

/** A volume that is fuller is told of before it is full. */
const NEARLY_FULL_PERCENT = 85
/** Volumes that grow by themselves are this full only if they fill faster than they grow. */
const FULL_DESPITE_GROWTH_PERCENT = 97

type Finding = (ending: Ending) => Told<'Degraded'> | undefined

/** In the order of how urgent they are. */
const FINDINGS: readonly Finding[] = [
  brokenPod,
  lostData,
  stuck,
  fullDisk,
  lostNode,
  etcdTrouble,
  missingReplicas,
]

export function degraded(ending: Ending): Told<'Degraded'> {
  const { observed, memory } = ending.pass
  if (observed.cluster.deletedAtMs !== undefined || memory.isHibernated) {
    return tell('False', 'AsExpected')
  }
  for (const finding of FINDINGS) {
    const found = finding(ending)
    if (found !== undefined) return found
  }
  const isNew = memory.replicas === 0 || memory.operation?.type === 'Create'
  if (observed.store === 'unreachable' && !isNew) return tell('Unknown', 'Unknown')
  return tell('False', 'AsExpected')
}

/** The pod that a scale-down takes away may end as it likes: its node was decommissioned. */
function brokenPod({ pass }: Ending): Told<'Degraded'> | undefined {
  const { observed, memory } = pass
  const leaving = memory.operation?.type === 'ScaleDown' ? memory.operation.targetOrdinal : -1
  const nodes = observed.nodes.pods.filter(({ ordinal }) => ordinal !== leaving)
  const worst = worstPod([...nodes, ...(observed.etcdPool?.pods ?? [])])
  if (worst?.problem === undefined) return undefined
  const { reason, message } = worst.problem
  return tell('True', reason, `${worst.name}: ${message}`)
}

function lostData({ pass }: Ending): Told<'Degraded'> | undefined {
  const lost = pass.memory.members.filter(
    (member) => member.formerNodeIDs.length > 0 || hasLostClaim(pass, member),
  )
  if (lost.length === 0) return undefined
  const names = lost.map(({ podName }) => podName).join(', ')
  return tell('True', 'NodeDataLost', `the volume was replaced: ${names}`)
}

function stuck({ pass, waiting }: Ending): Told<'Degraded'> | undefined {
  const type = pass.memory.operation?.type
  if (waiting?.reason === 'Blocked' && type === 'ScaleDown') {
    return tell('True', 'DrainBlocked', waiting.message)
  }
  if (waiting?.reason !== 'Stalled') return undefined
  return tell('True', type === 'Create' ? 'StartFailed' : 'Stalled', waiting.message)
}

function fullDisk({ pass }: Ending): Told<'Degraded'> | undefined {
  const { nodes, etcdPool } = pass.observed
  const percent = mayAutoGrow(pass) ? FULL_DESPITE_GROWTH_PERCENT : NEARLY_FULL_PERCENT
  const full =
    nodes.claims.find(({ usedPercent = 0 }) => usedPercent >= percent) ??
    etcdPool?.claims.find(({ usedPercent = 0 }) => usedPercent >= NEARLY_FULL_PERCENT)
  if (full === undefined) return undefined
  const isOfNodes = nodes.claims.includes(full)
  const why =
    isOfNodes && isAtMaxSize(pass) ? ': spec.nodes.storage.autoGrow.maxSize is reached' : ''
  return tell('True', 'DiskNearlyFull', `${full.name}${why}`)
}

/** Only between operations: what an operation stops is not lost. */
function lostNode({ pass }: Ending): Told<'Degraded'> | undefined {
  const { observed, memory } = pass
  if (observed.store === 'unreachable' || memory.operation !== undefined) return undefined
  const away = observed.store.nodes.find((node) => node.state === 'serving' && isAway(node))
  return away === undefined
    ? undefined
    : tell('True', 'NodeLost', `${away.name ?? away.id} is ${away.condition}`)
}

function etcdTrouble(ending: Ending): Told<'Degraded'> | undefined {
  const etcd = etcdReady(ending)
  const isCalm = etcd === undefined || etcd.status === 'True' || etcd.reason === 'Starting'
  return isCalm ? undefined : tell('True', 'EtcdDegraded', etcd.message)
}

function missingReplicas({ pass }: Ending): Told<'Degraded'> | undefined {
  const { observed, memory } = pass
  if (observed.store === 'unreachable' || memory.operation !== undefined) return undefined
  return observed.store.shards.underReplicated > 0
    ? tell('True', 'ReplicasMissing', observed.store.message)
    : undefined
}
