// Whether a cluster is as it was asked for, and whether it serves.

import { passing, trouble, well } from '../core/advice.ts'
import type { AdviceOf } from '../core/advice.ts'
import { LOOK } from '../core/commands.ts'

export const READY: AdviceOf<'Ready'> = {
  ClusterReady: well('the spec is applied, all nodes are ready, and the store is healthy'),
  OperationInProgress: passing(
    'an operation is in flight, or something is waited for before one begins',
    'wait; Progressing says what for',
  ),
  PodsNotReady: trouble(
    'fewer pods are ready than the cluster has nodes, and no operation is the reason',
    'look at the pods that are not ready: their events and logs say why',
    { look: LOOK.pods, cause: 'Degraded' },
  ),
  HealthDegraded: trouble(
    'the store answers, and says that it is not healthy',
    'read status.healthMessage, and list the shards that are in trouble',
    { look: LOOK.shards, cause: 'Degraded' },
  ),
  EtcdNotReady: trouble('all nodes are well, and etcd is not', 'see EtcdReady', {
    cause: 'EtcdReady',
  }),
  InvalidSpec: trouble('the spec cannot be followed', 'see SpecValid', { cause: 'SpecValid' }),
  ServiceUnreachable: trouble(
    'pods are ready, and none answers the operator',
    'look for a NetworkPolicy or a mesh between the operator and port 8080 of the nodes',
    { look: LOOK.operatorLog, cause: 'Available' },
  ),
  Hibernated: well('the cluster sleeps, as asked', 'to wake it, set spec.hibernate to false'),
  Paused: trouble('the spec has changes that wait', 'take the annotation quarry.dev/paused away', {
    cause: 'Paused',
  }),
  Deleting: passing('the cluster was deleted, and its pods are stopping'),
}

export const AVAILABLE: AdviceOf<'Available'> = {
  Serving: well('documents can be read and written'),
  QuorumLost: trouble(
    'etcd has no quorum: shards serve as before, but no leader is replaced and nothing can be changed',
    'bring the members of etcd back',
    { cause: 'EtcdReady', procedure: 'etcdQuorum' },
  ),
  ShardsUnavailable: trouble(
    'shards have no leader, or too few replicas in sync to take writes',
    'bring nodes back that are away, and delete no volume while this holds',
    { look: LOOK.shards },
  ),
  ServiceUnreachable: trouble(
    'no node answers the operator: whether the cluster serves is not known',
    'look at the pods; if they are ready, look for what refuses the operator port 8080 of the nodes',
    { look: LOOK.pods },
  ),
  Starting: passing('the cluster starts for the first time'),
  Hibernated: well('the cluster sleeps, as asked', 'to wake it, set spec.hibernate to false'),
  Deleting: passing('the cluster was deleted'),
}
