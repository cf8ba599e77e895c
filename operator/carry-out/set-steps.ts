// Steps about StatefulSets and their pods.

import { must } from '../../lib/assert.ts'
import { isJsonRecord, isText } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { kindNamed } from '../children/child-kinds.ts'
import type { ObjectVersion, Pool } from '../machines/pass/decision.ts'
import { buildEtcdSet } from '../resources/etcd/etcd-set.ts'
import { buildNodeSet } from '../resources/nodes/node-set.ts'
import { ANNOTATIONS, objectNames } from '../resources/parts/names.ts'
import type { ObjectRef, StoredObject } from '../runtime/api/api-object.ts'
import { ABSENT } from '../runtime/api/kubernetes-api.ts'
import { podsLeft } from './pods-left.ts'
import type { Handlers, Hands, StepOf, StepOutcome } from './step-context.ts'

export const SET_STEPS: Handlers<
  'create_set' | 'write_template' | 'set_partition' | 'set_replicas' | 'delete_set' | 'delete_pod'
> = {
  create_set: createSet,
  write_template: writeTemplate,
  set_partition: setPartition,
  set_replicas: ({ pool, set, replicas }, hands) => patchSet({ pool, set }, { replicas }, hands),
  delete_set: deleteSet,
  delete_pod: deletePod,
}

/**
 * KP2, STG3: pods that are there keep running. The new set begins with the template that they were made from, which gives
 * it the revision that they have; what the spec asks for now follows pod by pod. The partition holds those of others.
 */
async function createSet(
  { pool, replicas, partition }: StepOf<'create_set'>,
  hands: Hands,
): Promise<StepOutcome> {
  const { api, signal } = hands
  const ref = setRef(hands, pool)
  if ((await api.get(ref, signal)) !== undefined) return 'outdated'
  const left = await podsLeft(hands, pool)
  const built = buildSet(hands, pool, {
    replicas,
    partition: left === undefined ? partition : replicas,
  })
  const template = left?.template ?? built.spec.template
  const object = {
    ...built,
    metadata: { ...built.metadata, resourceVersion: ABSENT },
    spec: { ...built.spec, template },
  }
  await api.apply({ kind: ref.kind, object, force: true }, signal)
  return 'done'
}

/**
 * A template with the digest that is wanted stays as it is, although this version of the operator might build it
 * differently: then the partition alone is written.
 */
async function writeTemplate(step: StepOf<'write_template'>, hands: Hands): Promise<StepOutcome> {
  const { pool, set, partition } = step
  const live = hands.context.liveSets[pool]
  if (live === undefined || !isVersion(live, set)) return 'outdated'
  const spec = recordIn(live, 'spec')
  const built = buildSet(hands, pool, { replicas: replicasOf(spec), partition })
  if (digestOf(spec) === digestOf(built.spec)) {
    return setPartition({ ...step, kind: 'set_partition' }, hands)
  }
  const object = {
    ...built,
    metadata: { ...built.metadata, ...set },
    spec: { ...built.spec, ...immutable(spec) },
  }
  await hands.api.apply({ kind: setRef(hands, pool).kind, object, force: true }, hands.signal)
  return 'done'
}

function setPartition(
  { pool, set, partition }: StepOf<'set_partition'>,
  hands: Hands,
): Promise<StepOutcome> {
  // With another type, as after an edit by hand, a partition is refused.
  const updateStrategy = { type: 'RollingUpdate', rollingUpdate: { partition } }
  return patchSet({ pool, set }, { updateStrategy }, hands)
}

async function patchSet(
  { pool, set }: { readonly pool: Pool; readonly set: ObjectVersion },
  spec: JsonRecord,
  hands: Hands,
): Promise<StepOutcome> {
  const { uid, resourceVersion } = set
  const value = { metadata: { uid, resourceVersion }, spec }
  const patch = { type: 'merge', value } as const
  await hands.api.patch({ ref: setRef(hands, pool), patch, part: 'object' }, hands.signal)
  return 'done'
}

async function deleteSet(
  { pool, set, keepsPods }: StepOf<'delete_set'>,
  hands: Hands,
): Promise<StepOutcome> {
  const propagation = keepsPods ? 'Orphan' : 'Foreground'
  await hands.api.delete({ ref: setRef(hands, pool), ...set, propagation }, hands.signal)
  return 'done'
}

/** A pod's version changes with each probe that it fails, so that the version is the one of a moment ago. */
async function deletePod(
  { name, uid }: StepOf<'delete_pod'>,
  { api, context, signal }: Hands,
): Promise<StepOutcome> {
  const { namespace } = context.input.cluster
  const ref = { kind: kindNamed('Pod'), namespace, name }
  const live = (await api.get(ref, signal))?.metadata
  if (live?.uid !== uid) return 'outdated'
  if (live.deletionTimestamp !== undefined) return 'done'
  const { resourceVersion } = live
  await api.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)
  return 'done'
}

function setRef({ context }: Hands, pool: Pool): ObjectRef {
  const { name: cluster, namespace } = context.input.cluster
  const { nodeSet, etcdSet } = objectNames(cluster)
  return { kind: kindNamed('StatefulSet'), namespace, name: pool === 'nodes' ? nodeSet : etcdSet }
}

function buildSet(
  { context }: Hands,
  pool: Pool,
  size: { readonly replicas: number; readonly partition: number },
) {
  const { cluster, decided } = context.input
  if (pool === 'nodes') {
    return buildNodeSet({ cluster, decided: { ...decided, nodes: { ...decided.nodes, ...size } } })
  }
  const etcd = must(decided.etcd, 'what was decided for etcd')
  return buildEtcdSet(context.input, { ...etcd, ...size })
}

/** The API refuses another value of these, even a field that is left out or filled in. */
const IMMUTABLE = ['podManagementPolicy', 'selector', 'serviceName', 'volumeClaimTemplates']

function immutable(spec: JsonRecord): JsonRecord {
  return Object.fromEntries(Object.entries(spec).filter(([name]) => IMMUTABLE.includes(name)))
}

function isVersion({ metadata }: StoredObject, { uid, resourceVersion }: ObjectVersion): boolean {
  return metadata.uid === uid && metadata.resourceVersion === resourceVersion
}

function replicasOf({ replicas }: JsonRecord): number {
  return must(typeof replicas === 'number' ? replicas : undefined, 'replicas of a live set')
}

function digestOf(spec: JsonRecord): string | undefined {
  const metadata = recordIn(recordIn(spec, 'template'), 'metadata')
  const digest = recordIn(metadata, 'annotations')[ANNOTATIONS.templateDigest]
  return isText(digest) ? digest : undefined
}

function recordIn(record: JsonRecord, name: string): JsonRecord {
  const value = record[name]
  return isJsonRecord(value) ? value : {}
}
