// The container of a node.

import type { V1Container, V1EnvVar } from '@kubernetes/client-node'
import type { Built } from '../parts/built.ts'
import { present } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { CONTAINERS, PORT_NAMES, PORTS } from '../parts/names.ts'
import { containerSecurity } from '../parts/pod-security.ts'
import { httpProbe, resourcesOf } from '../parts/pods.ts'
import { nodeCommand } from './node-command.ts'
import { ETCD_CREDENTIALS } from './node-paths.ts'
import { nodeMounts } from './node-volumes.ts'

const STARTUP_PERIOD_SECONDS = 5
/** For about 3 s requests still come from Kubernetes nodes that have not heard yet that the pod is about to stop. */
const STOP_DELAY_SECONDS = 3
const OWNED_VARIABLE = /^(?:QUARRY|POD)_/

export function nodeContainer(input: ClusterInput): Built<V1Container> {
  const { spec } = input.cluster
  const { nodes } = spec
  return {
    args: nodeCommand(input),
    env: variables(input),
    image: spec.image ?? input.decided.images.node,
    imagePullPolicy: spec.imagePullPolicy,
    lifecycle: { preStop: { sleep: { seconds: STOP_DELAY_SECONDS } } },
    name: CONTAINERS.node,
    ports: portsOf(spec.mode),
    resources: resourcesOf(nodes.resources),
    securityContext: containerSecurity(spec),
    ...probesOf(nodes.startupTimeoutSeconds),
    volumeMounts: nodeMounts(input),
    ...present({ envFrom: nodes.envFrom }),
  }
}

/**
 * A start waits for etcd as long as that takes, and is not ready meanwhile: it is alive, so that an outage of etcd
 * becomes no loop of restarts.
 */
function probesOf(startupTimeoutSeconds: number) {
  const alive = { path: '/healthz', port: PORT_NAMES.health }
  const failureThreshold = Math.ceil(startupTimeoutSeconds / STARTUP_PERIOD_SECONDS)
  return {
    livenessProbe: httpProbe(alive, { failureThreshold: 6, periodSeconds: 10, timeoutSeconds: 5 }),
    readinessProbe: httpProbe(
      { path: '/readyz', port: PORT_NAMES.health },
      { failureThreshold: 2, periodSeconds: 5, timeoutSeconds: 5 },
    ),
    startupProbe: httpProbe(alive, {
      failureThreshold,
      periodSeconds: STARTUP_PERIOD_SECONDS,
      timeoutSeconds: 5,
    }),
  }
}

function portsOf(mode: ClusterInput['cluster']['spec']['mode']) {
  const peers = { containerPort: PORTS.peers, name: PORT_NAMES.peers, protocol: 'TCP' }
  return [
    { containerPort: PORTS.api, name: PORT_NAMES.api, protocol: 'TCP' },
    { containerPort: PORTS.health, name: PORT_NAMES.health, protocol: 'TCP' },
    ...(mode === 'SingleNode' ? [] : [peers]),
  ]
}

function variables({ cluster: { spec } }: ClusterInput): readonly Built<V1EnvVar>[] {
  const { etcd, inference, nodes } = spec
  const inferenceUrl = inference.enabled
    ? `http://127.0.0.1:${PORTS.inference}`
    : inference.externalURL
  const credentials = etcd?.credentialsSecretRef
  return [
    field('POD_NAME', 'metadata.name'),
    ...(spec.mode === 'SingleNode'
      ? []
      : [field('QUARRY_ZONE', "metadata.labels['topology.kubernetes.io/zone']")]),
    ...(inferenceUrl === undefined ? [] : [{ name: 'QUARRY_INFERENCE_URL', value: inferenceUrl }]),
    ...(credentials === undefined
      ? []
      : [secretKey('QUARRY_ETCD_USER', credentials.name, ETCD_CREDENTIALS.user)]),
    ...(nodes.env ?? []).filter(({ name }) => !OWNED_VARIABLE.test(name)),
  ]
}

function field(name: string, fieldPath: string): Built<V1EnvVar> {
  return { name, valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath } } }
}

function secretKey(name: string, secret: string, key: string): Built<V1EnvVar> {
  return { name, valueFrom: { secretKeyRef: { key, name: secret } } }
}
