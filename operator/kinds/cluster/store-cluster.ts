// The kind StoreCluster: its names, and an object of it as the API server keeps it.

import { map, object, optional, set, text, time, integer } from '../schema/fields.ts'
import type { Stored } from '../schema/fields.ts'
import { COUNT_MAX } from './operation.ts'
import { GROUP } from './owned-names.ts'
import { spec } from './spec.ts'
import { ROOT_RULES } from './spec-rules.ts'
import { status } from './status.ts'

export const STORE_CLUSTER = {
  group: GROUP,
  version: 'v1alpha1',
  kind: 'StoreCluster',
  plural: 'storeclusters',
  singular: 'storecluster',
  listKind: 'StoreClusterList',
  shortNames: ['qsc'],
  categories: ['store'],
} as const

/** Annotations of a StoreCluster by which people steer the operator. */
export const STORE_CLUSTER_ANNOTATIONS = {
  paused: `${GROUP}/paused`,
  allowDowngrade: `${GROUP}/allow-downgrade`,
  forceDrainOrdinal: `${GROUP}/force-drain-ordinal`,
  skipHealthGate: `${GROUP}/skip-health-gate`,
} as const

export const CLEANUP_FINALIZER = `${GROUP}/cluster-cleanup`

const NAME_MAX = 253
const ANNOTATIONS_BYTES_MAX = 262_144

/** What the operator reads of every object's metadata. */
const metadata = object('What Kubernetes keeps of every object.', {
  name: text('The name.', { max: NAME_MAX, min: 1 }),
  namespace: text('The namespace.', { max: 63, min: 1 }),
  uid: text('Differs from that of every other object, also of the same name.', {
    max: 128,
    min: 1,
  }),
  resourceVersion: text('Differs after every change.', { max: 128, min: 1 }),
  generation: integer('Grows with every change of the spec.', { min: 0, max: COUNT_MAX }),
  creationTimestamp: time('When the object was made.'),
  deletionTimestamp: optional(time('When somebody deleted the object.')),
  labels: optional(map('Labels.', { valueMax: 63, max: COUNT_MAX })),
  annotations: optional(map('Annotations.', { valueMax: ANNOTATIONS_BYTES_MAX, max: COUNT_MAX })),
  finalizers: optional(
    set('Who has to do something before the object is gone.', text('A name.', { max: NAME_MAX }), {
      max: COUNT_MAX,
    }),
  ),
})

export const storeCluster = object(
  'A cluster of Quarry, a document store with full-text, vector and graph indexes.',
  {
    apiVersion: text('The group and version of the kind.', { max: 64 }),
    kind: text('The kind.', { max: 64 }),
    metadata,
    spec,
    status: optional(status),
  },
  { rules: ROOT_RULES },
)

export type StoreCluster = Stored<typeof storeCluster>
export type StoreClusterMetadata = StoreCluster['metadata']
