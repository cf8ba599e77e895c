// The restricted level of Kubernetes' Pod Security Standards, and what this project asks of its pods besides:
// https://kubernetes.io/docs/concepts/security/pod-security-standards/#restricted

import type {
  V1Container,
  V1PodSecurityContext,
  V1PodSpec,
  V1SecurityContext,
  V1Volume,
} from '@kubernetes/client-node'

const VOLUME_KINDS = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'persistentVolumeClaim',
  'projected',
  'secret',
]
const SECCOMP = ['RuntimeDefault', 'Localhost']

/** What the level refuses in a pod; none: it is admitted. */
export function restrictedProblems(pod: V1PodSpec): readonly string[] {
  const containers = [...(pod.initContainers ?? []), ...pod.containers]
  return [
    ...(['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => pod[field] === true),
    ...(pod.volumes ?? []).flatMap(volumeProblems),
    ...(pod.automountServiceAccountToken === false ? [] : ['a token is mounted']),
    ...containers.flatMap((container) =>
      containerProblems(pod, container).map((problem) => `${container.name}: ${problem}`),
    ),
  ]
}

function volumeProblems(volume: V1Volume): readonly string[] {
  const kinds = Object.keys(volume).filter((key) => key !== 'name')
  return kinds.every((kind) => VOLUME_KINDS.includes(kind)) && kinds.length === 1
    ? []
    : [`${volume.name}: ${kinds.join(' and ')}`]
}

function containerProblems(pod: V1PodSpec, container: V1Container): readonly string[] {
  const own: V1SecurityContext = container.securityContext ?? {}
  const facts: Readonly<Record<string, boolean>> = {
    privileged: own.privileged === true,
    'may gain privileges': own.allowPrivilegeEscalation !== false,
    ...capabilityFacts(own),
    ...userFacts(pod.securityContext ?? {}, own),
    'writes to its image': own.readOnlyRootFilesystem !== true,
    'has a port of the host': (container.ports ?? []).some(
      ({ hostPort }) => hostPort !== undefined,
    ),
    'sees /proc unmasked': own.procMount === 'Unmasked',
  }
  return Object.entries(facts).flatMap(([problem, holds]) => (holds ? [problem] : []))
}

function capabilityFacts({ capabilities = {} }: V1SecurityContext): Record<string, boolean> {
  return {
    'keeps capabilities': capabilities.drop?.includes('ALL') !== true,
    'adds capabilities': (capabilities.add ?? []).some((name) => name !== 'NET_BIND_SERVICE'),
  }
}

function userFacts(pod: V1PodSecurityContext, own: V1SecurityContext): Record<string, boolean> {
  const seccomp = own.seccompProfile ?? pod.seccompProfile
  return {
    'may be root': (own.runAsNonRoot ?? pod.runAsNonRoot) !== true,
    'is root': (own.runAsUser ?? pod.runAsUser ?? 0) === 0,
    'has no seccomp profile': !SECCOMP.includes(seccomp?.type ?? ''),
  }
}
