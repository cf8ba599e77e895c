// What the API server has about one cluster. Pods and events are left out where the reader may not list them.

import { EXIT } from '../../lib/process/exit-codes.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import { shellWord } from '../../lib/own-command.ts'
import { STORE_CLUSTER } from '../../operator/kinds/cluster/store-cluster.ts'
import { selectorLabels } from '../../operator/resources/parts/names.ts'
import { ApiError } from '../../operator/runtime/api/api-error.ts'
import type { ResourceKind, StoredObject } from '../../operator/runtime/api/api-object.ts'
import type { KubernetesClient } from '../../operator/runtime/client/kubernetes-client.ts'
import { pathOf, queryOf } from '../../operator/runtime/client/request-path.ts'
import { CliError } from '../process/exit.ts'

const { group, version, plural, kind } = STORE_CLUSTER
const CLUSTERS: ResourceKind = { group, version, plural, kind, namespaced: true }
const PODS: ResourceKind = {
  group: '',
  version: 'v1',
  plural: 'pods',
  kind: 'Pod',
  namespaced: true,
}
const EVENTS: ResourceKind = { ...PODS, plural: 'events', kind: 'Event' }
/** A cluster has 100 nodes and five members of etcd at most, and pods of tests beside them. */
const PODS_MAX = 500
const EVENTS_MAX = 200
/** A message lists at most ten names of clusters. */
const NAMES_MAX = 10

/** Where a cluster is looked for. */
export interface ClusterPlace {
  readonly context: string
  readonly server: string
  readonly namespace: string
  readonly name: string
}

/** What was read. */
export interface ReadCluster {
  readonly object: StoredObject
  readonly pods: readonly StoredObject[]
  /** As the API has them. */
  readonly events: readonly unknown[]
  /** What could not be read, and why. */
  readonly gaps: readonly string[]
}

/** Throws the API's refusals; for an absent cluster, a CliError with the names of the existing ones. */
export async function readCluster(
  client: KubernetesClient,
  place: ClusterPlace,
  signal: AbortSignal,
): Promise<ReadCluster> {
  const { namespace, name } = place
  const object = await client.get({ kind: CLUSTERS, namespace, name }, signal)
  if (object === undefined) throw await absent(client, place, signal)
  const gaps: string[] = []
  const pods = await unlessForbidden('pods', gaps, () => listPods(client, place, signal))
  const events = await unlessForbidden('events', gaps, () =>
    listEvents(client, { namespace, uid: object.metadata.uid }, signal),
  )
  return { object, pods, events, gaps }
}

async function listPods(
  client: KubernetesClient,
  { namespace, name }: ClusterPlace,
  signal: AbortSignal,
): Promise<readonly StoredObject[]> {
  const { 'app.kubernetes.io/component': _, ...labels } = selectorLabels(name, 'node')
  const labelSelector = Object.entries(labels)
    .map(([label, value]) => `${label}=${value}`)
    .join(',')
  const page = { limit: PODS_MAX, continueToken: '' }
  return (await client.list({ kind: PODS, namespace, labelSelector }, page, signal)).items
}

/** Only here are events selected by a field, as `kubectl events --for` does. */
async function listEvents(
  client: KubernetesClient,
  { namespace, uid }: { readonly namespace: string; readonly uid: string },
  signal: AbortSignal,
): Promise<readonly unknown[]> {
  const query = queryOf({ fieldSelector: `involvedObject.uid=${uid}`, limit: String(EVENTS_MAX) })
  const path = pathOf({ kind: EVENTS, namespace }) + query
  const body = await client.connection.json({ method: 'GET', path }, signal)
  return isJsonRecord(body) && Array.isArray(body['items']) ? body['items'] : []
}

async function unlessForbidden<Item>(
  what: string,
  gaps: string[],
  list: () => Promise<readonly Item[]>,
): Promise<readonly Item[]> {
  try {
    return await list()
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 403) throw error
    gaps.push(`${what} are not shown: ${error.message}`)
    return []
  }
}

/** A kind that is not served is thrown as the refusal of the list. */
async function absent(
  client: KubernetesClient,
  { namespace, name, context }: ClusterPlace,
  signal: AbortSignal,
): Promise<CliError> {
  const here = await namesIn(client, namespace, signal)
  const beginning = `no StoreCluster ${name} in namespace ${namespace} (context ${context})`
  if (here.length > 0) return notFound(`${beginning}; there are: ${listed(here)}`)
  const elsewhere = await namesIn(client, '', signal).catch(() => [])
  if (elsewhere.length === 0) return notFound(`${beginning}, nor any other`)
  const options = elsewhere.map(
    (one) => `${shellWord(one.metadata.name)} -n ${shellWord(one.metadata.namespace ?? '')}`,
  )
  return notFound(`${beginning}; in other namespaces: ${listedTexts(options)}`)
}

async function namesIn(
  client: KubernetesClient,
  namespace: string,
  signal: AbortSignal,
): Promise<readonly StoredObject[]> {
  const page = { limit: NAMES_MAX + 1, continueToken: '' }
  return (await client.list({ kind: CLUSTERS, namespace, labelSelector: '' }, page, signal)).items
}

function listed(objects: readonly StoredObject[]): string {
  return listedTexts(objects.map(({ metadata }) => metadata.name))
}

function listedTexts(texts: readonly string[]): string {
  return texts.length > NAMES_MAX
    ? `${texts.slice(0, NAMES_MAX).join(', ')} and more`
    : texts.join(', ')
}

function notFound(message: string): CliError {
  return new CliError(EXIT.refused, 'NOT_FOUND', message)
}
