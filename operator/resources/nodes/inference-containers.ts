// The inference server beside a node, and what downloads its models.
//
// The server has no readiness probe: a container that is not ready takes its whole pod, and so the node, out of the
// Services and the PodDisruptionBudget. Whether it serves is read from its health port.

import type { V1Container } from '@kubernetes/client-node'
import type { InferenceSpec } from '../../kinds/cluster/spec.ts'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { CONTAINERS, KEYS, PORT_NAMES, PORTS } from '../parts/names.ts'
import { containerSecurity } from '../parts/pod-security.ts'
import { httpProbe, resourcesOf } from '../parts/pods.ts'
import { inferenceMounts } from './node-volumes.ts'
import { PATHS } from './node-paths.ts'

const STARTUP_PERIOD_SECONDS = 5

type Model = NonNullable<InferenceSpec['models']>[number]

/** The words of `quarry models pull` for the kinds of models. */
const KINDS = {
  Embedder: 'embedders',
  Chunker: 'chunkers',
  Reranker: 'rerankers',
  Generator: 'generators',
  Recognizer: 'recognizers',
  Rewriter: 'rewriters',
} as const satisfies Record<NonNullable<Model['kind']>, string>

/** The containers of the server: none, or one. */
export function inferenceContainers(input: ClusterInput): readonly Built<V1Container>[] {
  const { spec } = input.cluster
  const { inference } = spec
  if (!inference.enabled) return []
  const { inferenceHealth } = PORT_NAMES
  const failureThreshold = Math.ceil(inference.preloadTimeoutSeconds / STARTUP_PERIOD_SECONDS)
  return [
    {
      ...inferenceBasics(input),
      args: inferenceCommand(input),
      livenessProbe: httpProbe(
        { path: '/healthz', port: inferenceHealth },
        { failureThreshold: 6, periodSeconds: 10, timeoutSeconds: 5 },
      ),
      name: CONTAINERS.inference,
      ports: [{ containerPort: PORTS.inferenceHealth, name: inferenceHealth, protocol: 'TCP' }],
      resources: resourcesOf(inference.resources),
      startupProbe: httpProbe(
        { path: '/healthz', port: inferenceHealth },
        { failureThreshold, periodSeconds: STARTUP_PERIOD_SECONDS, timeoutSeconds: 5 },
      ),
    },
  ]
}

function inferenceBasics({ cluster: { spec }, decided }: ClusterInput) {
  return {
    image: spec.inference.image ?? decided.images.inference,
    imagePullPolicy: spec.imagePullPolicy,
    securityContext: containerSecurity(spec),
    volumeMounts: inferenceMounts(),
  }
}

function inferenceCommand({ cluster: { spec } }: ClusterInput): readonly string[] {
  const preloaded = (spec.inference.models ?? []).filter(({ preload }) => preload)
  return [
    'inference',
    `--config=${PATHS.config}/${KEYS.inferenceConfig}`,
    '--host=127.0.0.1',
    `--port=${PORTS.inference}`,
    '--health-host=0.0.0.0',
    `--health-port=${PORTS.inferenceHealth}`,
    `--models-dir=${PATHS.models}`,
    `--log-level=${spec.logLevel.toLowerCase()}`,
    ...(preloaded.length === 0 ? [] : [`--preload=${preloaded.map(({ name }) => name).join(',')}`]),
  ]
}

/** One container for each model, one after another. They end before the node starts. */
export function modelContainers(input: ClusterInput): readonly Built<V1Container>[] {
  const { inference } = input.cluster.spec
  if (!inference.enabled) return []
  return (inference.models ?? []).map((model, at) => ({
    ...inferenceBasics(input),
    args: pullCommand(model),
    name: `model-${at}`,
    resources: resourcesOf(inference.resources),
  }))
}

function pullCommand({ name, kind, variant, revision, source }: Model): readonly string[] {
  return [
    'models',
    'pull',
    name,
    `--models-dir=${PATHS.models}`,
    ...(kind === undefined ? [] : [`--kind=${KINDS[kind]}`]),
    ...(variant === undefined ? [] : [`--variant=${variant}`]),
    ...(revision === undefined ? [] : [`--revision=${revision}`]),
    ...(source === undefined ? [] : [`--endpoint=${source}`]),
  ]
}
