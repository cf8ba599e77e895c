// What is reported of a cluster: as JSON to programs as it is, and to people by report-view.ts.

import { adviceFor, anchorFor, GOOD_STATUS } from '../../operator/handbook/conditions/advice-for.ts'
import type { ConditionStatus } from '../../operator/kinds/cluster/conditions.ts'
import type { StoreClusterStatus } from '../../operator/kinds/cluster/status.ts'
import { readStatus } from '../../operator/kinds/crd/read-store-cluster.ts'
import type { ClusterPlace, ReadCluster } from './cluster-reader.ts'
import { eventFacts, podFacts, recordOf, textIn } from './pod-facts.ts'
import type { EventFacts, PodFacts } from './pod-facts.ts'

const PAGE = 'docs/reference/handbook.md'

/** A condition with another status than in a healthy cluster. */
export interface Attention {
  readonly type: string
  readonly status: ConditionStatus
  readonly reason: string
  readonly message: string
  readonly since: string
  /** What to do, on one line. */
  readonly act: string
  /** The page with its anchor. */
  readonly page: string
}

/** All that is shown of a cluster. The names of its members are a promise to programs. */
export interface ClusterReport {
  readonly cluster: string
  readonly namespace: string
  readonly context: string
  readonly mode: string
  readonly generation: number
  readonly deleting: boolean
  /** As the operator wrote it; absent before its first look. */
  readonly status?: StoreClusterStatus
  readonly attention: readonly Attention[]
  readonly pods: readonly PodFacts[]
  readonly events: readonly EventFacts[]
  /** What could not be read. */
  readonly gaps: readonly string[]
}

export function buildReport(
  { object, pods, events, gaps }: ReadCluster,
  { context }: ClusterPlace,
): ClusterReport {
  const { name, namespace = '', generation = 0, deletionTimestamp } = object.metadata
  const status = readStatus(object['status'])
  return {
    cluster: name,
    namespace,
    context,
    mode: textIn(recordOf(object['spec']), 'mode'),
    generation,
    deleting: deletionTimestamp !== undefined,
    ...(status === undefined ? {} : { status }),
    attention: attentionIn(status, name),
    pods: pods.map(podFacts),
    events: eventFacts(events),
    gaps,
  }
}

type Condition = NonNullable<StoreClusterStatus['conditions']>[number]

/** What another condition tells better is left out, if that one is in trouble too. */
function attentionIn(
  status: StoreClusterStatus | undefined,
  cluster: string,
): readonly Attention[] {
  const troubled = (status?.conditions ?? []).filter(isTroubled)
  const types = new Set<string>(troubled.map(({ type }) => type))
  return troubled
    .filter((condition) => !types.has(adviceFor(condition)?.cause ?? ''))
    .map((condition) => attentionOf(condition, cluster))
}

function isTroubled(condition: Condition): boolean {
  const advice = adviceFor(condition)
  if (advice !== undefined) return advice.tone === 'trouble'
  // Of another version of the operator: a type that this one does not know is good when it is True.
  const good = new Map<string, ConditionStatus | undefined>(Object.entries(GOOD_STATUS))
  const { type, status } = condition
  return status !== (good.has(type) ? (good.get(type) ?? status) : 'True')
}

const UNKNOWN = 'another version of the operator wrote this: its handbook tells more'

function attentionOf(condition: Condition, cluster: string): Attention {
  const { type, status, reason, message, lastTransitionTime: since } = condition
  const advice = adviceFor(condition)
  const act = (advice?.act ?? UNKNOWN).replaceAll('CLUSTER', cluster)
  const page = `${PAGE}#${anchorFor(type, advice)}`
  return { type, status, reason, message, since, act, page }
}
