// The inference server beside a node, and what downloads its models.
//
// A container that does not run, or that has a probe which fails, takes its whole pod, and so the node, out of the
// Services and the PodDisruptionBudget. So the server has no probe, and runs below a supervisor that starts it again and
// does what probes would do. Whether it serves is read from its health port.

import type { V1Container } from '@kubernetes/client-node'
import type { InferenceSpec } from '../../kinds/cluster/spec.ts'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { CONTAINERS, KEYS, PORT_NAMES, PORTS } from '../parts/names.ts'
import { containerSecurity } from '../parts/pod-security.ts'
import { resourcesOf } from '../parts/pods.ts'
import { inferenceMounts } from './node-volumes.ts'
import { PATHS } from './node-paths.ts'

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
  return [
    {
      ...inferenceBasics(input),
      args: inferenceCommand(input),
      name: CONTAINERS.inference,
      ports: [{ containerPort: PORTS.inferenceHealth, name: inferenceHealth, protocol: 'TCP' }],
      resources: resourcesOf(inference.resources),
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
    `--supervise=${spec.inference.preloadTimeoutSeconds}`,
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
    // A node that starts again needs no hub for what its volume has.
    '--if-needed',
    ...(kind === undefined ? [] : [`--kind=${KINDS[kind]}`]),
    ...(variant === undefined ? [] : [`--variant=${variant}`]),
    ...(revision === undefined ? [] : [`--revision=${revision}`]),
    ...(source === undefined ? [] : [`--endpoint=${source}`]),
  ]
}
