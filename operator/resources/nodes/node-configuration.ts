// The configuration files of a node and of the inference server beside it.

import { createHash } from 'node:crypto'
import type { V1ConfigMap } from '@kubernetes/client-node'
import { OWNED_INFERENCE_OPTIONS, OWNED_NODE_OPTIONS } from '../../kinds/cluster/owned-names.ts'
import { sorted } from '../parts/built.ts'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import { KEYS, objectNames } from '../parts/names.ts'

export function buildConfiguration(input: ClusterInput) {
  const { cluster } = input
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadataOf(cluster, objectNames(cluster.name).config),
    data: configurationFiles(input),
  } satisfies Built<V1ConfigMap>
}

/** A digest of all files: a change restarts the nodes, and an equal content does not. */
export function configHash(input: ClusterInput): string {
  return createHash('sha256')
    .update(JSON.stringify(configurationFiles(input)))
    .digest('hex')
}

function configurationFiles({ cluster: { spec } }: ClusterInput): Readonly<Record<string, string>> {
  const { inference } = spec
  return {
    ...(inference.enabled
      ? { [KEYS.inferenceConfig]: fileOf(inference.config, OWNED_INFERENCE_OPTIONS) }
      : {}),
    [KEYS.nodeConfig]: fileOf(spec.config, OWNED_NODE_OPTIONS),
  }
}

/** One line for each option, in YAML; each value is written as JSON, which is YAML, too. */
function fileOf(
  options: Readonly<Record<string, unknown>> | undefined,
  owned: Readonly<Record<string, string>>,
): string {
  const given = Object.entries(options ?? {}).filter(([option]) => !Object.hasOwn(owned, option))
  const lines = Object.entries(sorted(Object.fromEntries(given))).map(
    ([option, value]) => `${JSON.stringify(option)}: ${JSON.stringify(value)}\n`,
  )
  return lines.length === 0 ? '{}\n' : lines.join('')
}
