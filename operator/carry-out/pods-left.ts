// Pods that run without their set, as between its deletion and its new one, and the template that they were made from.
//
// A set keeps each template that its pods have in a ControllerRevision, and a pod names the one that it was made from. A set
// that is deleted without its pods leaves both. The new set of the same name takes them over, and finds its template among
// the revisions again if it is equal: then the pods that are there are those that it wants.

import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { kindNamed } from '../children/child-kinds.ts'
import type { Pool } from '../machines/pass/decision.ts'
import { objectNames, selectorLabels } from '../resources/parts/names.ts'
import type { ResourceKind, StoredObject } from '../runtime/api/api-object.ts'
import { listAll } from '../runtime/cache/list-all.ts'
import type { Hands } from './step-context.ts'

const REVISION_LABEL = 'controller-revision-hash'

const REVISIONS: ResourceKind = {
  group: 'apps',
  version: 'v1',
  plural: 'controllerrevisions',
  kind: 'ControllerRevision',
  namespaced: true,
}

/** Pods without a set. */
export interface PodsLeft {
  /** The one of the lowest ordinal, which a rollout reaches last. Absent if its revision is gone. */
  readonly template: JsonRecord | undefined
}

/** Undefined if no pod stays. */
export async function podsLeft(hands: Hands, pool: Pool): Promise<PodsLeft | undefined> {
  const { api, context, signal } = hands
  const { name: cluster, namespace } = context.input.cluster
  const { nodeSet, etcdSet } = objectNames(cluster)
  const labels = Object.entries(selectorLabels(cluster, pool === 'nodes' ? 'node' : 'etcd'))
  const labelSelector = labels.map(([name, value]) => `${name}=${value}`).join(',')
  const { items } = await listAll(api, { kind: kindNamed('Pod'), namespace, labelSelector }, signal)
  const lowest = lowestPod(items, pool === 'nodes' ? nodeSet : etcdSet)
  if (lowest === undefined) return undefined
  const name = lowest.metadata.labels?.[REVISION_LABEL]
  if (name === undefined) return { template: undefined }
  const revision = await api.get({ kind: REVISIONS, namespace, name }, signal)
  return { template: revision === undefined ? undefined : templateIn(revision) }
}

function lowestPod(pods: readonly StoredObject[], set: string): StoredObject | undefined {
  return pods
    .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
    .map((pod) => ({ pod, ordinal: ordinalIn(pod.metadata.name, set) }))
    .filter(({ ordinal }) => ordinal >= 0)
    .toSorted((one, other) => one.ordinal - other.ordinal)[0]?.pod
}

/** -1 for a pod that does not belong to the set. */
function ordinalIn(pod: string, set: string): number {
  const rest = pod.startsWith(`${set}-`) ? pod.slice(set.length + 1) : ''
  return /^\d+$/.test(rest) ? Number(rest) : -1
}

/** A revision has the template as a patch of its set, and says so in a member that templates do not have. */
function templateIn({ data }: StoredObject): JsonRecord | undefined {
  const spec = isJsonRecord(data) ? data['spec'] : undefined
  const template = isJsonRecord(spec) ? spec['template'] : undefined
  if (!isJsonRecord(template)) return undefined
  const { $patch: _, ...rest } = template
  return withoutNull(rest)
}

/** The API writes times that are absent as null, and takes no null in what is applied. */
function withoutNull(record: JsonRecord): JsonRecord {
  const given = Object.entries(record).filter(([, value]) => value !== null)
  return Object.fromEntries(
    given.map(([name, value]) => [name, isJsonRecord(value) ? withoutNull(value) : value]),
  )
}
