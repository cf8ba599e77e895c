// What pods and containers may do: Kubernetes' restricted level, and a root file system that nobody writes to.

import type { V1PodSecurityContext, V1SecurityContext } from '@kubernetes/client-node'
import type { StoreClusterSpec } from '../../kinds/cluster/spec.ts'
import type { Built } from './built.ts'

/** The user and group of the images. */
const USER = 10_001

const POD: Built<V1PodSecurityContext> = {
  fsGroup: USER,
  // Volumes with a million files start at once.
  fsGroupChangePolicy: 'OnRootMismatch',
  runAsGroup: USER,
  runAsNonRoot: true,
  runAsUser: USER,
  seccompProfile: { type: 'RuntimeDefault' },
}

const CONTAINER: Built<V1SecurityContext> = {
  allowPrivilegeEscalation: false,
  capabilities: { drop: ['ALL'] },
  readOnlyRootFilesystem: true,
}

export function podSecurity({ podSecurityContext }: StoreClusterSpec): Built<V1PodSecurityContext> {
  return { ...POD, ...podSecurityContext }
}

export function containerSecurity({
  containerSecurityContext,
}: StoreClusterSpec): Built<V1SecurityContext> {
  return { ...CONTAINER, ...containerSecurityContext }
}
