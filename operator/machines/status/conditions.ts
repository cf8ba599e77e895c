// What is known about a cluster, as conditions. Each function tells one of them; `undefined` leaves it out.

import type { ConditionType, ReasonOf } from '../../kinds/cluster/conditions.ts'
import { nextOperation } from '../operations/choosing.ts'
import type { Memory } from '../pass/memory.ts'
import type { StoreView } from '../observed/store-view.ts'
import type { Pass } from '../pass/pass.ts'
import { degraded } from './degraded.ts'
import { tell } from './ending.ts'
import type { Ending, Told } from './ending.ts'
import { specProblem } from './spec-verdict.ts'
import { etcdReady, inferenceReady, storageReady } from './parts-ready.ts'

type Teller<Of extends ConditionType> = (ending: Ending) => Told<Of> | undefined

export const CONDITIONS: { readonly [Of in ConditionType]: Teller<Of> } = {
  Ready: ready,
  Available: available,
  Progressing: progressing,
  Degraded: degraded,
  SpecValid: specValid,
  SecretsReady: secretsReady,
  StorageReady: storageReady,
  EtcdReady: etcdReady,
  InferenceReady: inferenceReady,
  MonitoringReady: monitoringReady,
  Paused: paused,
  Hibernated: hibernated,
  SafeguardsOff: safeguardsOff,
}

/** The spec is applied, all pods are ready, the store is healthy, and nothing is being done. */
function ready(ending: Ending): Told<'Ready'> {
  const { observed, memory } = ending.pass
  if (observed.cluster.deletedAtMs !== undefined) return tell('False', 'Deleting')
  if (specProblem(ending.pass) !== undefined) return tell('False', 'InvalidSpec')
  if (memory.isHibernated && memory.operation === undefined) return tell('False', 'Hibernated')
  const isUnfinished = memory.operation !== undefined || ending.waiting !== undefined
  if (observed.cluster.overrides.isPaused && isChangeWanted(ending.pass)) {
    return tell('False', 'Paused', 'the spec has changes that wait')
  }
  if (isUnfinished && !observed.cluster.overrides.isPaused) {
    return tell('False', 'OperationInProgress', memory.operation?.type ?? '')
  }
  return readyParts(ending.pass)
}

function isChangeWanted(pass: Pass): boolean {
  return pass.memory.operation !== undefined || nextOperation(pass) !== undefined
}

function readyParts(pass: Pass): Told<'Ready'> {
  const { observed, memory, wanted } = pass
  const { nodes, store } = observed
  const well = nodes.pods.filter((pod) => pod.isReady && !pod.isDeleting).length
  if (memory.replicas === 0 || well < memory.replicas) {
    return tell('False', 'PodsNotReady', `${well} of ${memory.replicas} are ready`)
  }
  if (wanted.hasManagedEtcd && etcdReady({ pass, waiting: undefined })?.status !== 'True') {
    return tell('False', 'EtcdNotReady')
  }
  if (store === 'unreachable') return tell('Unknown', 'ServiceUnreachable')
  if (store.health !== 'healthy') return tell('False', 'HealthDegraded', store.message)
  return tell('True', 'ClusterReady')
}

function available({ pass }: Ending): Told<'Available'> {
  const { observed, memory, wanted } = pass
  const { store, etcd } = observed
  if (observed.cluster.deletedAtMs !== undefined) return tell('False', 'Deleting')
  if (memory.isHibernated) return tell('False', 'Hibernated')
  if (wanted.hasManagedEtcd && etcd !== 'unreachable' && !etcd.hasQuorum) {
    return tell('False', 'QuorumLost', 'etcd has no quorum')
  }
  return store === 'unreachable' ? unanswered(memory) : serving(store)
}

function unanswered({ replicas, operation }: Memory): Told<'Available'> {
  const isNew = replicas === 0 || operation?.type === 'Create'
  return isNew ? tell('False', 'Starting') : tell('Unknown', 'ServiceUnreachable')
}

function serving(store: StoreView): Told<'Available'> {
  const isDown = store.health === 'unhealthy' || store.health === 'error'
  if (isDown || store.shards.unavailable > 0) {
    return tell('False', 'ShardsUnavailable', store.message)
  }
  return tell('True', 'Serving')
}

function progressing({ pass, waiting }: Ending): Told<'Progressing'> {
  const { operation } = pass.memory
  if (specProblem(pass) !== undefined) return tell('False', 'InvalidSpec')
  if (waiting !== undefined) {
    const { reason, message } = waiting
    const isHalted = reason === 'Blocked' || reason === 'Stalled' || reason === 'Paused'
    return tell(isHalted ? 'False' : 'True', reason, message)
  }
  if (operation === undefined) return tell('False', 'Idle')
  return tell('True', 'Advancing', operation.type)
}

function specValid({ pass }: Ending): Told<'SpecValid'> {
  const problem = specProblem(pass)
  return problem === undefined
    ? tell('True', 'Valid')
    : tell('False', problem.reason, problem.message)
}

function secretsReady({ pass }: Ending): Told<'SecretsReady'> {
  const [first] = pass.observed.secretProblems
  return first === undefined
    ? tell('True', 'AllKeysPresent')
    : tell('False', first.reason, `${first.field}: ${first.message}`)
}

function monitoringReady({ pass }: Ending): Told<'MonitoringReady'> | undefined {
  const { cluster, hasPodMonitors } = pass.observed
  if (!cluster.spec.monitoring.podMonitor.enabled) return undefined
  return hasPodMonitors
    ? tell('True', 'PodMonitorApplied')
    : tell('False', 'PodMonitorKindAbsent', 'this Kubernetes has no kind PodMonitor')
}

function paused({ pass }: Ending): Told<'Paused'> | undefined {
  return pass.observed.cluster.overrides.isPaused ? tell('True', 'PausedByAnnotation') : undefined
}

/** True while what is remembered is that it sleeps: the condition is that memory. */
function hibernated({ pass }: Ending): Told<'Hibernated'> | undefined {
  const { operation, isHibernated } = pass.memory
  if (isHibernated) return tell('True', operation === undefined ? 'Hibernated' : 'Resuming')
  if (operation?.type === 'Hibernate') return tell('False', 'Hibernating')
  return operation?.type === 'Resume' ? tell('False', 'Resuming') : undefined
}

function safeguardsOff({ pass }: Ending): Told<'SafeguardsOff'> | undefined {
  const { allowsDowngrade, forceDrainOrdinal, skipsHealthGate } = pass.observed.cluster.overrides
  const off: ReasonOf<'SafeguardsOff'>[] = [
    ...(allowsDowngrade ? (['DowngradeAllowed'] as const) : []),
    ...(forceDrainOrdinal === undefined ? [] : (['DrainForced'] as const)),
    ...(skipsHealthGate ? (['HealthGateSkipped'] as const) : []),
  ]
  const [first] = off
  if (first === undefined) return undefined
  return tell('True', off.length === 1 ? first : 'SeveralSafeguardsOff', off.join(', '))
}
