// The CustomResourceDefinition of StoreCluster. Clients send it as it is: those with models of their own for it drop
// defaults, rules and every other extension of the schema.

import { STORE_CLUSTER, storeCluster } from '../cluster/store-cluster.ts'
import { structuralSchema } from './structural-schema.ts'
import type { StructuralSchema } from './structural-schema.ts'

const WIDE = 1

const COLUMNS = [
  {
    name: 'Ready',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="Ready")].status',
    description: 'Whether the cluster is what its spec says.',
  },
  {
    name: 'Health',
    type: 'string',
    jsonPath: '.status.health',
    description: 'What the store says of itself.',
  },
  {
    name: 'Nodes',
    type: 'string',
    jsonPath: '.status.readyNodes',
    description: 'Ready and desired nodes.',
  },
  {
    name: 'Version',
    type: 'string',
    jsonPath: '.status.version',
    description: 'The lowest version that runs.',
  },
  {
    name: 'Operation',
    type: 'string',
    jsonPath: '.status.operation.type',
    description: 'What is being done.',
  },
  {
    name: 'Age',
    type: 'date',
    jsonPath: '.metadata.creationTimestamp',
    description: 'How long the object is there.',
  },
  {
    name: 'Image',
    type: 'string',
    jsonPath: '.status.image',
    priority: WIDE,
    description: 'The image that all nodes are to run.',
  },
  {
    name: 'Zones',
    type: 'string',
    jsonPath: '.status.members[*].zone',
    priority: WIDE,
    description: 'The zone of each node.',
  },
  {
    name: 'Etcd',
    type: 'string',
    jsonPath: '.status.conditions[?(@.type=="EtcdReady")].reason',
    priority: WIDE,
    description: 'How etcd is.',
  },
]

/** The schema of an object. Kubernetes itself describes metadata. */
export function storeClusterSchema(): StructuralSchema {
  const schema = structuralSchema(storeCluster)
  return { ...schema, properties: { ...schema.properties, metadata: { type: 'object' } } }
}

export function buildStoreClusterCrd() {
  const { group, version, kind, listKind, plural, singular, shortNames, categories } = STORE_CLUSTER
  return {
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: {
      name: `${plural}.${group}`,
      labels: { 'app.kubernetes.io/name': 'quarry', 'app.kubernetes.io/part-of': 'quarry' },
    },
    spec: {
      group,
      scope: 'Namespaced',
      names: { kind, listKind, plural, singular, shortNames, categories },
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: storeClusterSchema() },
          subresources: {
            status: {},
            scale: {
              specReplicasPath: '.spec.nodes.replicas',
              statusReplicasPath: '.status.nodes.current',
              labelSelectorPath: '.status.selector',
            },
          },
          additionalPrinterColumns: COLUMNS,
        },
      ],
    },
  }
}
