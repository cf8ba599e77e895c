// The StatefulSet of a cluster's own etcd, and the ConfigMap from which its members know each other.

import type { V1ConfigMap, V1Container, V1StatefulSet } from '@kubernetes/client-node'
import type { Built } from '../parts/built.ts'
import type { ClusterInput, EtcdDecision } from '../parts/cluster-input.ts'
import { metadataOf } from '../parts/metadata.ts'
import {
  ANNOTATIONS,
  CONTAINERS,
  etcdHost,
  KEYS,
  objectNames,
  PORT_NAMES,
  PORTS,
  selectorLabels,
} from '../parts/names.ts'
import { containerSecurity } from '../parts/pod-security.ts'
import { quantityBytes } from '../parts/quantity.ts'
import { claimTemplate, httpProbe, podBasics, podLabels, resourcesOf } from '../parts/pods.ts'
import { digestOf } from '../parts/template-digest.ts'
import { ETCD_PATHS, etcdCommand } from './etcd-command.ts'

const DATA = 'data'
const CERTIFICATES = 'certificates'
const GROUP_READS = 0o440
/** A member hands over its leadership and closes its files within a second or two. */
const GRACE_PERIOD_SECONDS = 30

export function buildEtcdSet(input: ClusterInput, etcd: EtcdDecision) {
  const { cluster } = input
  const { spec } = cluster
  const { etcdSet, etcdService } = objectNames(cluster.name)
  const claim = {
    name: DATA,
    size: etcd.claimSize,
    component: 'etcd',
    storageClassName: spec.etcd?.storage.storageClassName,
  } as const
  return {
    apiVersion: 'apps/v1',
    kind: 'StatefulSet',
    metadata: metadataOf(cluster, etcdSet, {
      component: 'etcd',
      // Kept by operators of later versions: a new default restarts no member.
      annotations: { [ANNOTATIONS.defaultImage]: input.decided.images.etcd },
    }),
    spec: {
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Retain', whenScaled: 'Retain' },
      // Members of a new cluster wait for each other: the first of several that start in turn would never be ready.
      podManagementPolicy: 'Parallel',
      replicas: etcd.replicas,
      selector: { matchLabels: selectorLabels(cluster.name, 'etcd') },
      serviceName: etcdService,
      template: {
        metadata: {
          annotations: {
            [ANNOTATIONS.secretHash]: etcd.authorityHash,
            [ANNOTATIONS.templateDigest]: etcdDigest(input, etcd),
          },
          labels: podLabels(cluster, 'etcd'),
        },
        spec: {
          ...podBasics(input, 'etcd'),
          containers: [etcdContainer(input)],
          terminationGracePeriodSeconds: GRACE_PERIOD_SECONDS,
          volumes: [certificates(cluster.name)],
        },
      },
      updateStrategy: { rollingUpdate: { partition: etcd.partition }, type: 'RollingUpdate' },
      volumeClaimTemplates: [claimTemplate(input, claim)],
    },
  } satisfies Built<V1StatefulSet>
}

/** Members get no certificate of a client. */
function certificates(cluster: string) {
  const keys = ['ca.crt', 'server.crt', 'server.key', 'peer.crt', 'peer.key']
  const items = keys.map((key) => ({ key, path: key }))
  const { etcdCertificates: secretName } = objectNames(cluster)
  return { name: CERTIFICATES, secret: { defaultMode: GROUP_READS, items, secretName } }
}

function etcdContainer(input: ClusterInput): Built<V1Container> {
  const { cluster, decided } = input
  const { spec } = cluster
  const { etcdClients, etcdMetrics, etcdPeers } = PORT_NAMES
  return {
    args: etcdCommand(input),
    // Images of etcd have no entry point.
    command: ['etcd'],
    env: [
      {
        name: 'POD_NAME',
        valueFrom: { fieldRef: { apiVersion: 'v1', fieldPath: 'metadata.name' } },
      },
      fromMembers(cluster.name, 'ETCD_INITIAL_CLUSTER', KEYS.initialCluster),
      fromMembers(cluster.name, 'ETCD_INITIAL_CLUSTER_STATE', KEYS.initialClusterState),
    ],
    image: spec.etcd?.image ?? decided.images.etcd,
    imagePullPolicy: spec.imagePullPolicy,
    name: CONTAINERS.etcd,
    ports: [
      { containerPort: PORTS.etcdClients, name: etcdClients, protocol: 'TCP' },
      { containerPort: PORTS.etcdPeers, name: etcdPeers, protocol: 'TCP' },
      { containerPort: PORTS.etcdMetrics, name: etcdMetrics, protocol: 'TCP' },
    ],
    resources: resourcesOf(spec.etcd?.resources),
    securityContext: containerSecurity(spec),
    ...probes(),
    volumeMounts: [
      { mountPath: ETCD_PATHS.volume, name: DATA },
      { mountPath: ETCD_PATHS.certificates, name: CERTIFICATES, readOnly: true },
    ],
  }
}

/**
 * A member without a quorum lives, and is not ready: a restart would not bring the others back. A full database is
 * no reason for either: the member still answers reads and deletions.
 */
function probes() {
  // Version 3.4 has no path of its own for "alive", and its /health asks for a quorum.
  const alive = { path: '/metrics', port: PORT_NAMES.etcdMetrics }
  const ready = { path: '/health?exclude=NOSPACE', port: PORT_NAMES.etcdMetrics }
  return {
    livenessProbe: httpProbe(alive, { failureThreshold: 8, periodSeconds: 10, timeoutSeconds: 10 }),
    readinessProbe: httpProbe(ready, { failureThreshold: 3, periodSeconds: 5, timeoutSeconds: 5 }),
    startupProbe: httpProbe(alive, { failureThreshold: 120, periodSeconds: 5, timeoutSeconds: 5 }),
  }
}

function fromMembers(cluster: string, name: string, key: string) {
  const { etcdMembers } = objectNames(cluster)
  return { name, valueFrom: { configMapKeyRef: { key, name: etcdMembers } } }
}

/** Which members there are, and whether one with an empty volume forms a cluster with them or joins theirs. */
export function buildEtcdMembers({ cluster }: ClusterInput, etcd: EtcdDecision) {
  const { etcdMembers, etcdSet } = objectNames(cluster.name)
  const members = [...etcd.members]
    .toSorted((one, other) => one - other)
    .map((ordinal) => `${etcdSet}-${ordinal}`)
    .map((pod) => `${pod}=https://${etcdHost(cluster, pod)}:${PORTS.etcdPeers}`)
  return {
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadataOf(cluster, etcdMembers, { component: 'etcd' }),
    data: { [KEYS.initialCluster]: members.join(','), [KEYS.initialClusterState]: etcd.state },
  } satisfies Built<V1ConfigMap>
}

/** As `templateDigest` of the nodes. */
function etcdDigest({ cluster, decided }: ClusterInput, etcd: EtcdDecision): string {
  const { spec } = cluster
  const { nodeSelector, tolerations, priorityClassName, schedulerName } = spec.nodes
  const from = [
    [cluster.name, cluster.namespace, cluster.uid],
    spec.etcd?.image ?? decided.images.etcd,
    [spec.imagePullPolicy, spec.imagePullSecrets, spec.serviceAccount.name],
    [nodeSelector, tolerations, priorityClassName, schedulerName],
    spec.nodes.podAntiAffinityPreset,
    spec.etcd?.resources,
    [quantityBytes(etcd.claimSize), etcd.authorityHash],
    [spec.podSecurityContext, spec.containerSecurityContext],
  ]
  return digestOf(from)
}
