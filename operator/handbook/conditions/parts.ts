// Parts of a cluster: volumes, etcd, inference servers.

import { passing, trouble, well } from '../core/advice.ts'
import type { AdviceOf } from '../core/advice.ts'
import { LOOK } from '../core/commands.ts'

export const STORAGE_READY: AdviceOf<'StorageReady'> = {
  AtRequestedSize: well('all volumes have the size that was asked for'),
  ExpansionUnsupported: trouble(
    'the StorageClass of a volume cannot expand volumes',
    'set allowVolumeExpansion of the class if its driver can, or set the size back to status.largestCapacity',
    { look: LOOK.storageClasses },
  ),
  Resizing: passing('volumes are growing', 'wait', { look: LOOK.claims }),
  FileSystemResizePending: passing(
    'the volume has grown, and its file system grows with the next start of the pod',
    'wait; if it stays so, restart the nodes by spec.restartedAt',
    { look: LOOK.claim },
  ),
  ExpansionFailed: trouble(
    'a volume could not grow; the message is that of its driver',
    'mend what the driver says, such as a quota of the provider, or set the size back to status.largestCapacity',
    { look: LOOK.claim },
  ),
  ClaimsPending: passing(
    'a claim has no volume yet',
    'wait; if it stays so, the events of the claim say why, such as a StorageClass that is not there',
    { look: LOOK.claim },
  ),
}

export const ETCD_READY: AdviceOf<'EtcdReady'> = {
  AllMembersReady: well('all members answer, and none raised an alarm'),
  External: well('others run etcd'),
  QuorumLost: trouble(
    'fewer than a majority of members answer: shards serve as before, and nothing in the cluster can be changed',
    'bring members back that have their volumes; delete no claim of etcd',
    { look: LOOK.etcdLog, procedure: 'etcdQuorum' },
  ),
  MemberLost: trouble(
    'a member does not answer, or is being replaced; the others have a quorum',
    'look at its pod; a member whose volume is gone is replaced without you',
    { look: LOOK.pods, procedure: 'etcdQuorum' },
  ),
  AlarmNoSpace: trouble(
    'the database of etcd is at its quota, which is half of the volume: nothing can be changed',
    'raise spec.etcd.storage.size; the operator defragments, and takes the alarm away when there is room',
    { look: LOOK.etcdLog, procedure: 'volumeFull' },
  ),
  AlarmCorrupt: trouble(
    'members have different content',
    'find the member that differs by its log, and replace its volume; with no majority that agrees, restore etcd',
    { look: LOOK.etcdLog, procedure: 'etcdQuorum' },
  ),
  CertificateExpiring: trouble(
    'a certificate of etcd ends soon and was not replaced',
    'read the log of the operator for the reason: it replaces certificates by itself',
    { look: LOOK.operatorLog },
  ),
  Unreachable: trouble(
    'no member answers the operator: whether etcd is well is not known',
    'look at the pods of etcd; if they are ready, look for what refuses the operator port 2379',
    { look: LOOK.pods },
  ),
  Starting: passing('etcd starts for the first time', 'wait', { look: LOOK.etcdLog }),
  Hibernated: well('the cluster sleeps, and etcd with it'),
}

export const INFERENCE_READY: AdviceOf<'InferenceReady'> = {
  ModelsLoaded: well('all inference servers serve'),
  External: well('others run the inference server'),
  Disabled: well('no inference server was asked for'),
  ModelsLoading: passing(
    'inference servers start, download models or load them',
    'wait; if it stays so, their log says which model',
    { look: LOOK.inferenceLog },
  ),
  SidecarCrashLooping: trouble(
    'the container of an inference server does not run: its image is not there, or it was ended for too much memory again and again; its node is not in the Services meanwhile',
    'read the message and the log; raise spec.inference.resources.limits.memory, or mend spec.inference.image',
    { look: LOOK.inferenceLog },
  ),
  SidecarsNotReady: trouble(
    'inference servers do not serve; their nodes do, without them',
    'read their logs: a model that is not there, options that are wrong; a server that ends is started again by itself',
    { look: LOOK.inferenceLog },
  ),
  Hibernated: well('the cluster sleeps'),
}
