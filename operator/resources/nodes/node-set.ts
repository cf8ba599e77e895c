// The StatefulSet of a cluster's nodes.

import type {
  V1PersistentVolumeClaim,
  V1PodTemplateSpec,
  V1StatefulSet,
} from '@kubernetes/client-node'
import { present, sorted } from '../parts/built.ts'
import type { Built } from '../parts/built.ts'
import type { ClusterInput } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import { ANNOTATIONS, objectNames, selectorLabels } from '../parts/names.ts'
import { claimTemplate, podBasics, podLabels, withoutOwned } from '../parts/pods.ts'
import { inferenceContainers, modelContainers } from './inference-containers.ts'
import { configHash } from './node-configuration.ts'
import { toldMembers } from './node-command.ts'
import { nodeContainer } from './node-container.ts'
import { VOLUMES } from './node-paths.ts'
import { digestOf } from '../parts/template-digest.ts'
import { nodeVolumes } from './node-volumes.ts'

export function buildNodeSet(input: ClusterInput) {
  const { cluster, decided } = input
  const { nodeSet, nodesService } = objectNames(cluster.name)
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: metadataOf(cluster, nodeSet),
    spec: {
      // The operator deletes claims, after it knows that nothing needs them. A set never does.
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      // One pod that cannot start does not keep the others from starting, or from being repaired.
      podManagementPolicy: 'Parallel',
      replicas: decided.nodes.replicas,
      selector: { matchLabels: selectorLabels(cluster.name, 'node') },
      serviceName: nodesService,
      template: nodeTemplate(input),
      updateStrategy: {
        rollingUpdate: { partition: decided.nodes.partition },
        type: 'RollingUpdate',
      },
      volumeClaimTemplates: nodeClaims(input),
    },
  } satisfies Built<V1StatefulSet>
}

function nodeTemplate(input: ClusterInput): Built<V1PodTemplateSpec> {
  const { cluster, decided } = input
  const { nodes, restartedAt } = cluster.spec
  const annotations = {
    ...withoutOwned(nodes.podAnnotations),
    ...present({ [ANNOTATIONS.restartedAt]: restartedAt }),
    [ANNOTATIONS.configHash]: configHash(input),
    [ANNOTATIONS.secretHash]: decided.secretHash,
    [ANNOTATIONS.templateDigest]: templateDigest(input),
    [ANNOTATIONS.version]: decided.version,
  }
  return {
    metadata: { annotations: sorted(annotations), labels: podLabels(cluster, 'node') },
    spec: {
      ...podBasics(input, 'node'),
      containers: [nodeContainer(input), ...inferenceContainers(input)],
      ...nonEmpty(modelContainers(input)),
      terminationGracePeriodSeconds: nodes.terminationGracePeriodSeconds,
      volumes: nodeVolumes(input),
    },
  }
}

function nonEmpty<Item>(initContainers: readonly Item[]) {
  return initContainers.length === 0 ? {} : { initContainers }
}

function nodeClaims(input: ClusterInput): readonly Built<V1PersistentVolumeClaim>[] {
  const { nodes, inference } = input.cluster.spec
  const { storageClassName, volumeAttributesClassName } = nodes.storage
  const models = inference.enabled ? inference.modelVolume : undefined
  const data = {
    name: VOLUMES.data,
    size: input.decided.nodes.claimSize,
    component: 'node',
    storageClassName,
    volumeAttributesClassName,
  } as const
  const ofModels =
    models?.type === 'GeneratedClaim' && models.size !== undefined
      ? [
          claimTemplate(input, {
            ...models,
            component: 'node',
            name: VOLUMES.models,
            size: models.size,
          }),
        ]
      : []
  return [claimTemplate(input, data), ...ofModels]
}

/**
 * A digest of what the template of the nodes follows from, and of nothing that an operator of another version would
 * build differently from it: the same digest means that the template stays as it is.
 */
function templateDigest(input: ClusterInput): string {
  const { cluster, decided } = input
  const { spec } = cluster
  const { replicas: _, storage: __, ...pool } = spec.nodes
  const from = {
    cluster: { name: cluster.name, namespace: cluster.namespace },
    mode: spec.mode,
    image: spec.image ?? decided.images.node,
    pull: [spec.imagePullPolicy, spec.imagePullSecrets],
    pool,
    etcd: etcdFacts(input),
    inference: inferenceFacts(input),
    files: [spec.configSecretRefs, spec.secretStoreRef],
    config: configHash(input),
    secrets: decided.secretHash,
    restartedAt: spec.restartedAt,
    account: spec.serviceAccount.name,
    security: [spec.podSecurityContext, spec.containerSecurityContext],
    logLevel: spec.logLevel,
    version: decided.version,
  }
  return digestOf(from)
}

/** Less what concerns the template of claims alone. */
function inferenceFacts({ cluster: { spec }, decided }: ClusterInput): unknown {
  const { enabled, externalURL, modelVolume, ...rest } = spec.inference
  if (!enabled) return externalURL
  const isClaim = modelVolume?.type === 'GeneratedClaim'
  const volume = isClaim ? modelVolume.type : modelVolume
  return { ...rest, volume, image: spec.inference.image ?? decided.images.inference }
}

/** Nodes know nothing of an own etcd but some of its members. */
function etcdFacts(input: ClusterInput): unknown {
  const { cluster, decided } = input
  const { etcd } = cluster.spec
  if (etcd?.mode !== 'External') return { members: toldMembers(input) }
  const { endpoints, tlsSecretRef, credentialsSecretRef } = etcd
  return { endpoints, tlsSecretRef, credentialsSecretRef, certificate: decided.hasEtcdCertificate }
}
