// Six clusters, from the smallest to one with every field, whose objects are compared with files.

import type { ClusterInput } from '../../../operator/resources/parts/cluster-input.ts'
import { inputOf } from './cluster-inputs.ts'

const NODES = { storage: { size: '10Gi' } }

export const CLUSTER_SHAPES: Readonly<Record<string, ClusterInput>> = {
  smallest: inputOf({ nodes: NODES, inference: { enabled: false } }),

  'single-node': inputOf({
    mode: 'SingleNode',
    nodes: { ...NODES, replicas: 1 },
    config: { disk_reserve_bytes: 134_217_728 },
  }),

  'external-etcd': inputOf({
    nodes: NODES,
    etcd: {
      mode: 'External',
      endpoints: ['https://etcd-1.example:2379', 'https://etcd-2.example:2379'],
      tlsSecretRef: { name: 'etcd-client' },
      credentialsSecretRef: { name: 'etcd-user' },
    },
    inference: { enabled: false, externalURL: 'http://models.example:8082' },
    networkPolicy: { extraEgress: [{ to: [{ ipBlock: { cidr: '192.0.2.0/24' } }] }] },
  }),

  inference: inputOf({
    nodes: NODES,
    inference: {
      image: 'registry.example/models:2',
      models: [
        { name: 'acme/words', kind: 'Embedder', variant: 'i8', preload: true },
        { name: 'acme/ranker', revision: 'v2', source: 'https://hub.example' },
      ],
      modelVolume: { type: 'GeneratedClaim', size: '5Gi', storageClassName: 'fast' },
      resources: { limits: { memory: '4Gi', 'example.com/gpu': 1 } },
      config: { request_timeout_ms: 60_000 },
    },
  }),

  everything: everything(),

  'forty-characters': inputOf(
    { nodes: NODES },
    { name: `b${'o'.repeat(38)}k`, namespace: 'n'.repeat(63) },
  ),
}

function everything(): ClusterInput {
  const selector = { matchLabels: { team: 'search' } }
  return inputOf(
    {
      version: '1.3.0',
      image: 'registry.example/quarry:1.3.0',
      imagePullPolicy: 'Always',
      imagePullSecrets: [{ name: 'registry' }],
      nodes: {
        replicas: 5,
        storage: {
          size: '100Gi',
          storageClassName: 'fast',
          volumeAttributesClassName: 'gold',
          autoGrow: { enabled: true, maxSize: '1Ti' },
        },
        resources: { requests: { cpu: 2, memory: '4Gi' }, limits: { memory: '8Gi' } },
        affinity: {
          podAffinity: {
            preferredDuringSchedulingIgnoredDuringExecution: [
              { weight: 1, podAffinityTerm: { topologyKey: 'zone', labelSelector: selector } },
            ],
          },
        },
        podAntiAffinityPreset: 'Required',
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }],
        topologySpreadConstraints: [
          { maxSkew: 2, topologyKey: 'rack', whenUnsatisfiable: 'DoNotSchedule' },
        ],
        priorityClassName: 'high',
        schedulerName: 'own',
        terminationGracePeriodSeconds: 300,
        startupTimeoutSeconds: 1200,
        env: [
          { name: 'AWS_REGION', value: 'eu-central-1' },
          {
            name: 'MODELS_KEY',
            valueFrom: { secretKeyRef: { name: 'models', key: 'key', optional: true } },
          },
        ],
        envFrom: [{ prefix: 'AWS_', secretRef: { name: 'aws' } }],
        podLabels: { team: 'search' },
        podAnnotations: { 'example.com/owner': 'search' },
      },
      etcd: {
        image: 'registry.example/etcd:3.5',
        replicas: 5,
        storage: { size: '20Gi', storageClassName: 'fast' },
        resources: { requests: { memory: '512Mi' } },
      },
      inference: {
        models: [{ name: 'acme/words' }],
        modelVolume: { type: 'ExistingClaim', claimName: 'models' },
        preloadTimeoutSeconds: 1800,
      },
      config: { provider_hosts: 'models.example', check_interval_ms: 3_600_000 },
      configSecretRefs: [
        { name: 'vertex', key: 'account.json', path: 'vertex/account.json' },
        { name: 'other', key: 'a', path: 'b' },
      ],
      secretStoreRef: { name: 'store' },
      clientService: {
        type: 'LoadBalancer',
        port: 80,
        annotations: { 'example.com/lb': 'internal' },
        labels: { tier: 'data' },
        loadBalancerClass: 'example.com/internal',
        loadBalancerSourceRanges: ['192.0.2.0/24'],
      },
      networkPolicy: {
        clientFrom: [{ podSelector: selector, namespaceSelector: {} }],
        metricsFrom: [],
        extraEgress: [{ ports: [{ port: 443, protocol: 'TCP' }] }],
      },
      podDisruptionBudget: { maxUnavailable: '20%' },
      restartedAt: '2026-11-27T02:00:00Z',
      persistentVolumeClaimRetentionPolicy: { whenDeleted: 'Delete' },
      monitoring: {
        podMonitor: { enabled: true, intervalSeconds: 15, labels: { release: 'own' } },
      },
      serviceAccount: { annotations: { 'example.com/role': 'reader' } },
      podSecurityContext: { runAsUser: 20_000, supplementalGroups: [30_000] },
      containerSecurityContext: { seccompProfile: { type: 'RuntimeDefault' } },
      logLevel: 'Debug',
    },
    { decided: { nodes: { replicas: 4, partition: 3, claimSize: '100Gi' } } },
  )
}
