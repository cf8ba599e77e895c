// Whether an operation advances, and what it waits for.

import { passing, trouble, well } from '../core/advice.ts'
import type { AdviceOf } from '../core/advice.ts'
import { LOOK } from '../core/commands.ts'

export const PROGRESSING: AdviceOf<'Progressing'> = {
  Advancing: passing('the operation takes its steps'),
  WaitingForPods: passing(
    'pods start or stop',
    'wait; after spec.updateStrategy.podTimeoutSeconds this becomes Stalled',
    { look: LOOK.pods },
  ),
  WaitingForHealth: passing(
    'the store does not answer, or is not healthy enough for the next step',
    'wait, or mend what the store says; spec.updateStrategy.requireHealthy is about restarts',
    { look: LOOK.status },
  ),
  WaitingForReplicas: passing(
    'shards have too few replicas in sync for a node to stop',
    'wait until replicas have caught up',
    { look: LOOK.shards },
  ),
  WaitingForEtcd: passing(
    'a member of etcd is missing, or etcd has no quorum yet',
    'wait; if EtcdReady is not True, see there',
    { look: LOOK.etcdLog },
  ),
  WaitingForVolumes: passing('volumes of nodes that left are being deleted', 'wait', {
    look: LOOK.claims,
  }),
  WaitingForRolloutSlot: passing(
    'other clusters are being rolled: the operator limits how many at a time',
    'wait, or raise maxConcurrentRollouts of the operator',
  ),
  WaitingForDrain: passing('replicas leave a node', 'wait; large nodes take hours', {
    look: LOOK.nodes,
  }),
  WaitingForFreshState: passing(
    'what the operator has read is too old to act upon, or Secrets that the spec names are missing',
    'wait; if SecretsReady is not True, see there',
    { look: LOOK.operatorLog },
  ),
  UpdatesPaused: trouble(
    'pods are to be restarted, and spec.updateStrategy.type is Paused',
    'set spec.updateStrategy.type to Rolling when the restarts may begin',
  ),
  Blocked: trouble(
    'the operation cannot advance until somebody changes something; its message says what',
    'for a scale-down: make room on the nodes that stay, bring nodes back that are away, or ask for more nodes again',
    { look: LOOK.nodes, cause: 'Degraded', procedure: 'scaleDownBlocked' },
  ),
  Stalled: trouble(
    'nothing has moved for longer than it may take, or will move by itself; the operation is still tried',
    'look at the pod that the message names; a spec that mends it is applied at once',
    { look: LOOK.pod, cause: 'Degraded', procedure: 'rolloutStuck' },
  ),
  Idle: well('there is nothing to do'),
  Paused: trouble(
    'the annotation quarry.dev/paused keeps the operator from changes',
    'take the annotation away',
    { cause: 'Paused' },
  ),
  InvalidSpec: trouble('the spec cannot be followed', 'see SpecValid', { cause: 'SpecValid' }),
}
