import type { HybridClock } from '../clock/hybrid-clock.ts'
import { must } from '../../lib/assert.ts'
import type { Sliced } from '../../lib/sliced.ts'
import type { ReplicaLag } from '../replication/core/follower-progress.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { ShardId } from '../shard/shard-id.ts'
import type { ShardCondition } from '../shard/shard.ts'
import type { ShardConditions } from './shard-conditions.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'
import type { LedShards } from '../catalog/tables/led-shards.ts'
import type { ClusterSummary } from './cluster-answers.ts'
import { clusterProblems } from './cluster-problems.ts'
import { INTERNAL_PREFIX } from '../catalog/tables/table-indexes.ts'
import { indexTroubles } from './index-summary.ts'
import { addKeys, type KeptKey, type ModelKeys } from '../catalog/tables/model-keys.ts'

const SHOWN_PROBLEMS_MAX = 100

/** The health of the node with every shard. `message` names each problem and how to solve it. */
export interface ClusterStatus {
  readonly health: 'healthy' | 'degraded' | 'unhealthy' | 'error'
  readonly message: string
  readonly auth_enabled: boolean
  readonly swarm_mode: boolean
  readonly version: string
  readonly git_commit?: string
  readonly tables: number
  readonly shards: Readonly<Record<string, ShardHealth>>
  /** Documents that searches may lack, over all shards. */
  readonly documents_behind: number
  /** Milliseconds by which the wall clock is ahead of hybrid time; absent where nobody asked a clock. */
  readonly clock_offset_ms?: number
  /** Keys of models in configurations of indexes, by the secret of this node under which they are sealed. */
  readonly model_keys: Readonly<Record<KeptKey, number>>
  readonly cluster: ClusterSummary
}

/**
 * The condition of one shard. `message` is empty while it serves. `pending_intents` counts held
 * keys. `lag` and `lag_ms` are those of its slowest replica, as far as its leader has said.
 */
export interface ShardHealth {
  readonly table: string
  readonly state: 'serving' | 'read_only' | 'failed'
  readonly message: string
  readonly pending_intents: number
  /** Documents that searches of the index that lacks most may lack. */
  readonly documents_behind: number
  readonly lag?: number
  readonly lag_ms?: number
}

/** What runs this store. */
export interface RunningProgram {
  readonly version: string
  /** The revision of its sources. Absent if nobody knows it. */
  readonly gitCommit: string | undefined
}

/**
 * The worst state of any shard decides the health. While an index refuses searches, the health is at
 * most `degraded`. The message names every problem.
 */
export function* clusterStatusOf(state: {
  readonly tables: readonly OpenTable[]
  readonly led: LedShards
  /** One entry for each shard of the tables. */
  readonly conditions: ShardConditions
  /** How far the slowest replica of a shard is behind, where that is known. */
  readonly lags: ReadonlyMap<string, ReplicaLag>
  readonly program: RunningProgram
  readonly ready: boolean
  readonly hybridClock: HybridClock
  readonly cluster: ClusterSummary
  readonly keys: ModelKeys
}): Sliced<ClusterStatus> {
  const shards = new Map<ShardId, ShardHealth>()
  const problems: string[] = []
  const counts = { serving: 0, read_only: 0, failed: 0 }
  const keys = { first: 0, accepted: 0, none: 0, plain: 0 }
  let refusesSearches = false
  let behind = 0
  for (const table of state.tables) {
    const { record, shards: open } = table
    for (const shard of open) {
      const health = healthOf(record.name, {
        condition: must(state.conditions.get(shard.id), 'the condition of every shard'),
        led: state.led.find(shard),
        lag: state.lags.get(shard.id),
      })
      shards.set(shard.id, health)
      counts[health.state]++
      behind += health.documents_behind
      if (health.state === 'serving') continue
      problems.push(`shard ${shard.id} of table "${record.name}": ${health.message}`)
    }
    addKeys(keys, state.keys.of(record.indexes))
    const troubles = indexTroubles(table, state.led, state.keys)
    problems.push(...troubles.map(({ message }) => message))
    refusesSearches ||= troubles.some((trouble) => trouble.refusesSearches)
    yield
  }
  const { gitCommit } = state.program
  const ofCluster = clusterProblems(state.cluster)
  problems.unshift(...ofCluster)
  const leapMs = state.hybridClock.leapMs()
  if (leapMs !== undefined) problems.push(leapMessage(leapMs))
  if (!state.ready) problems.unshift('starting: recovery has not finished')
  return {
    health: healthOfAll(counts, state.ready && !refusesSearches && ofCluster.length === 0),
    message: messageOf(problems, behind),
    auth_enabled: false,
    swarm_mode: state.cluster.mode === 'swarm',
    version: state.program.version,
    ...(gitCommit !== undefined && { git_commit: gitCommit }),
    tables: state.tables.filter(({ record }) => !record.name.startsWith(INTERNAL_PREFIX)).length,
    shards: Object.fromEntries(shards),
    documents_behind: behind,
    clock_offset_ms: state.hybridClock.wallOffsetMs(),
    model_keys: keys,
    cluster: state.cluster,
  }
}

function leapMessage(leapMs: number): string {
  const seconds = Math.round(Math.abs(leapMs) / 1000)
  const where = leapMs > 0 ? 'ahead of' : 'behind'
  return (
    `the wall clock leapt: it is ${seconds} s ${where} the time of the store, which follows ` +
    `by 5 % of the time that passes; set the clock right if it is wrong`
  )
}

/** Shows at most SHOWN_PROBLEMS_MAX problems, because one failed disk may fail thousands of shards. */
function messageOf(problems: readonly string[], behind: number): string {
  if (problems.length === 0) {
    return behind === 0 ? 'all shards serve' : `all shards serve; ${shownBehind(behind)}`
  }
  const shown = problems.slice(0, SHOWN_PROBLEMS_MAX).join('; ')
  const others = problems.length - SHOWN_PROBLEMS_MAX
  return others > 0 ? `${shown}; and ${others} more` : shown
}

function shownBehind(documents: number): string {
  return `searches may lack ${documents} documents, which indexes have not taken yet`
}

function healthOfAll(
  counts: Readonly<Record<ShardHealth['state'], number>>,
  isWhole: boolean,
): ClusterStatus['health'] {
  const { serving, read_only: readOnly, failed } = counts
  if (failed > 0) return serving + readOnly === 0 ? 'unhealthy' : 'degraded'
  return isWhole && readOnly === 0 ? 'healthy' : 'degraded'
}

interface SeenShard {
  readonly condition: ShardCondition
  /** Undefined where another node leads it. */
  readonly led: LedShard | undefined
  readonly lag: ReplicaLag | undefined
}

function healthOf(table: string, { condition, led, lag }: SeenShard): ShardHealth {
  return {
    table,
    state: condition.kind,
    message: condition.kind === 'serving' ? '' : condition.reason,
    pending_intents: led?.heldKeys ?? 0,
    documents_behind: condition.kind === 'failed' ? 0 : condition.documentsBehind,
    ...(lag === undefined ? {} : { lag: lag.entries, lag_ms: lag.ms }),
  }
}
