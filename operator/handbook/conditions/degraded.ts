// What needs somebody's attention: of several things the most urgent one.

import { trouble, well } from '../core/advice.ts'
import type { AdviceOf } from '../core/advice.ts'
import { LOOK } from '../core/commands.ts'

export const DEGRADED: AdviceOf<'Degraded'> = {
  AsExpected: well('nothing needs attention'),
  CrashLooping: trouble(
    'a container ends again and again',
    'read the last lines of its log before the restart, and mend the spec: it is applied at once',
    { look: LOOK.lastLog, procedure: 'rolloutStuck' },
  ),
  ImagePullFailed: trouble(
    'an image cannot be pulled',
    'check spec.image, spec.version, spec.imagePullSecrets and that the registry is reached',
    { look: LOOK.pod, procedure: 'rolloutStuck' },
  ),
  Unschedulable: trouble(
    'no Kubernetes node takes a pod: too little room, taints, or rules of spec.nodes that none fulfils',
    'add Kubernetes nodes, or ask for less in spec.nodes',
    { look: LOOK.pod },
  ),
  VolumeTopologyConflict: trouble(
    'the volume of a pod is in a zone, or on a Kubernetes node, that takes the pod no more',
    'bring the zone or the Kubernetes node back; if it is gone for good, replace the volume',
    { look: LOOK.pod, procedure: 'kubernetesNodeGone' },
  ),
  DiskNearlyFull: trouble(
    'a volume is 85 % full or more, or 97 % where volumes still grow by themselves; on a full one writes are refused',
    'raise spec.nodes.storage.size, or autoGrow.maxSize where it is reached (of etcd: spec.etcd.storage.size), or add nodes',
    { look: LOOK.claims, procedure: 'volumeFull' },
  ),
  DrainBlocked: trouble(
    'a node is to leave, and shards cannot move from it; its message says why',
    'make room on the nodes that stay, bring nodes back that are away, or ask for more nodes again',
    { look: LOOK.nodes, procedure: 'scaleDownBlocked' },
  ),
  Stalled: trouble(
    'the operation in flight has not moved for longer than it may take',
    'look at the pod or the node that the message names',
    { look: LOOK.pod, procedure: 'rolloutStuck' },
  ),
  StartFailed: trouble(
    'the cluster has been starting for a quarter of an hour; nothing is taken back',
    'look at the pod that the message names, and mend the spec: it is applied at once',
    { look: LOOK.pod },
  ),
  PodsNotReady: trouble(
    'pods have not been ready for long, and Kubernetes does not say why',
    'look at their events and logs',
    { look: LOOK.log },
  ),
  NodeLost: trouble(
    'a node does not answer while its pod should run; its replicas are made again elsewhere',
    'look at its pod and at the Kubernetes node that it is on',
    { look: LOOK.pods, procedure: 'kubernetesNodeGone' },
  ),
  NodeDataLost: trouble(
    'the volume of a node was replaced: another node has its name, and the former one is taken out of the cluster',
    'wait until its replicas are made again, and find out who deleted the volume',
    { look: LOOK.nodes },
  ),
  ReplicasMissing: trouble(
    'shards have fewer replicas in sync than their tables want',
    'wait while replicas are made; if nothing moves, the store says what waits',
    { look: LOOK.status },
  ),
  EtcdDegraded: trouble('etcd needs attention', 'see EtcdReady', { cause: 'EtcdReady' }),
  CertificateExpiring: trouble(
    'a certificate ends soon and was not replaced',
    'read the log of the operator for the reason: it replaces certificates by itself',
    { look: LOOK.operatorLog },
  ),
  Forbidden: trouble(
    'the API server refuses what the operator needs: rights, Pod Security, or an admission policy',
    'give the operator the right that the message names, or change the policy of the namespace',
    { look: LOOK.operatorLog },
  ),
  QuotaExceeded: trouble(
    'a quota of the namespace leaves no room',
    'raise the quota, or ask for less',
    { look: LOOK.quota },
  ),
  Unknown: trouble(
    'no node answers the operator: what ails the cluster is not known',
    'see Available',
    { look: LOOK.pods, cause: 'Available' },
  ),
}
