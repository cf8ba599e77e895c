// The state and the counts of the store as Prometheus text. Each scrape reads them from their owners.

import {
  counter,
  familyLines,
  gauge,
  samplesBy,
  type MetricFamily,
  type MetricSource,
} from '../../../lib/metrics.ts'
import { runInTurn, StepMeter, type Sliced } from '../../../lib/sliced.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { HybridClock } from '../../clock/hybrid-clock.ts'
import type { LedShard } from '../../shard/led-shard.ts'
import type { IndexEvents } from '../../shard/following/index-events.ts'
import type { LedShards } from '../../catalog/tables/led-shards.ts'
import { conditionsOf } from '../shard-conditions.ts'
import { INTERNAL_PREFIX } from '../../catalog/tables/table-indexes.ts'
import { countKeysSliced, type ModelKeys } from '../../catalog/tables/model-keys.ts'
import type { TableRegistry } from '../../catalog/tables/table-registry.ts'
import { countIndexesSliced } from '../index-summary.ts'
import type { Idempotency } from '../../transactions/idempotency.ts'
import type { TransactionRecovery } from '../../transactions/transaction-recovery.ts'
import type { TransactionRunner } from '../../transactions/transaction-runner.ts'

/** A step reads the counts of 256 shards, in about a millisecond. */
const SHARDS_PER_STEP = 256

/** The parts of the node that count. A scrape reads them, and changes nothing. */
export interface StoreMetricsOptions {
  readonly clock: Clock
  readonly registry: TableRegistry
  readonly led: LedShards
  readonly hybridClock: HybridClock
  readonly runner: TransactionRunner
  readonly recovery: TransactionRecovery
  readonly idempotency: Idempotency
  /** Documents that this process has deleted because they expired. */
  readonly housekeeper: { readonly expiredDocuments: number }
  /** Undefined: the node keeps no indexes. */
  readonly indexEvents: IndexEvents | undefined
  readonly isReady: () => boolean
  readonly keys: ModelKeys
}

export function storeMetrics(options: StoreMetricsOptions): MetricSource {
  const { clock, led } = options
  return async () =>
    [
      ...(await nodeFamilies(options)),
      ...transactionFamilies(options),
      ...backlogFamilies(await runInTurn(backlogOf(led.all()), { clock })),
      ...(await indexFamilies(options)),
    ].flatMap(familyLines)
}

async function nodeFamilies({
  registry,
  hybridClock,
  housekeeper,
  isReady,
  keys,
  clock,
}: StoreMetricsOptions): Promise<readonly MetricFamily[]> {
  const tables = registry.tables()
  const states = { serving: 0, read_only: 0, failed: 0 }
  for (const { kind } of (await conditionsOf(tables, clock)).values()) states[kind] += 1
  const users = tables.filter(({ record }) => !record.name.startsWith(INTERNAL_PREFIX))
  return [
    gauge(
      'quarry_ready',
      '1 once recovery has ended and the node serves requests.',
      isReady() ? 1 : 0,
    ),
    gauge('quarry_tables', "Tables of users, without the product's own.", users.length),
    {
      name: 'quarry_shards',
      type: 'gauge',
      help: 'Shards of all tables, by state; a read-only shard has no room on its disk.',
      samples: samplesBy('state', states),
    },
    {
      name: 'quarry_model_keys',
      type: 'gauge',
      help: 'Keys of models in configurations of indexes, by the secret of this node under which they are sealed.',
      samples: samplesBy('secret', await runInTurn(countKeysSliced(tables, keys), { clock })),
    },
    counter(
      'quarry_expired_documents_total',
      'Documents deleted after they expired.',
      housekeeper.expiredDocuments,
    ),
    gauge(
      'quarry_clock_offset_seconds',
      "Seconds that the wall clock is ahead of the store's time; negative if it is behind.",
      hybridClock.wallOffsetMs() / 1000,
    ),
    gauge(
      'quarry_clock_leapt',
      "1 while the store's time follows a wall clock that leapt.",
      hybridClock.leapMs() === undefined ? 0 : 1,
    ),
  ]
}

function transactionFamilies({
  runner,
  recovery,
  idempotency,
}: StoreMetricsOptions): readonly MetricFamily[] {
  const { oneShard, severalShards, aborted, retries } = runner.counts
  return [
    {
      name: 'quarry_transactions_committed_total',
      type: 'counter',
      help: 'Writes that took effect, by whether they touched one shard or several.',
      samples: samplesBy('shards', { one: oneShard, several: severalShards }),
    },
    {
      name: 'quarry_transactions_aborted_total',
      type: 'counter',
      help: 'Writes that had no effect, by the reason.',
      samples: samplesBy('reason', aborted),
    },
    counter('quarry_transaction_retries_total', 'Attempts after the first one.', retries),
    counter(
      'quarry_transactions_recovered_total',
      'Transactions that recovery ended because their coordinator stopped answering.',
      recovery.recovered,
    ),
    gauge(
      'quarry_transaction_waiting_keys',
      'Keys of writes that wait for their turn.',
      runner.waitingClaims,
    ),
    counter(
      'quarry_idempotency_replays_total',
      'Requests answered from the stored answer of their Idempotency-Key.',
      idempotency.replays,
    ),
  ]
}

const NO_BACKLOG = {
  transactionRecords: 0,
  heldKeys: 0,
  proposals: 0,
  proposedBytes: 0,
  unstoredBytes: 0,
}

/** What shards have under way. */
type Backlog = Readonly<typeof NO_BACKLOG>

function* backlogOf(shards: readonly LedShard[]): Sliced<Backlog> {
  const meter = new StepMeter(SHARDS_PER_STEP)
  const sum = { ...NO_BACKLOG }
  for (const { load, heldKeys } of shards) {
    sum.transactionRecords += load.transactionRecords
    sum.heldKeys += heldKeys
    sum.proposals += load.proposals
    sum.proposedBytes += load.proposedBytes
    sum.unstoredBytes += load.unstoredBytes
    if (meter.spend(1)) yield
  }
  return sum
}

function backlogFamilies(backlog: Backlog): readonly MetricFamily[] {
  return [
    gauge(
      'quarry_transaction_records',
      'Stored records of transactions over several shards.',
      backlog.transactionRecords,
    ),
    gauge('quarry_held_keys', 'Keys that running transactions hold.', backlog.heldKeys),
    gauge(
      'quarry_pending_commands',
      'Commands of shards that are not durable yet.',
      backlog.proposals,
    ),
    gauge('quarry_pending_command_bytes', 'Bytes of these commands.', backlog.proposedBytes),
    gauge(
      'quarry_unstored_bytes',
      'Bytes that are durable in the journal and not in the stores yet.',
      backlog.unstoredBytes,
    ),
  ]
}

/**
 * Counted by shard: an index of a table of four shards counts four times. The names are from when text
 * was the only kind of index, and stay: dashboards and alerts know them.
 */
async function indexFamilies({
  clock,
  registry,
  led,
  indexEvents,
}: StoreMetricsOptions): Promise<readonly MetricFamily[]> {
  if (indexEvents === undefined) return []
  const counts = await runInTurn(countIndexesSliced(registry.tables(), led), { clock })
  const { firstBuilds, rebuilds, failures, documentsSetAside, slowedWrites, questions } =
    indexEvents
  return [
    gauge('quarry_text_indexes_building', 'Text indexes that are being built.', counts.building),
    gauge(
      'quarry_text_indexes_failed',
      'Text indexes that failed and will be retried.',
      counts.failed,
    ),
    gauge(
      'quarry_text_indexes_catching_up',
      'Text indexes that read the entries that they had not written when the node ended.',
      counts.catchingUp,
    ),
    gauge(
      'quarry_text_indexes_refusing',
      'Text indexes that refuse searches because they are being built or have failed.',
      counts.refusing,
    ),
    gauge(
      'quarry_text_index_entries_behind',
      'Log entries that the slowest text index has not read.',
      counts.entriesBehindMax,
    ),
    gauge(
      'quarry_index_documents_behind',
      'Documents that searches may lack: of each shard, those of the index that lacks most.',
      counts.documentsBehind,
    ),
    {
      name: 'quarry_text_index_builds_total',
      type: 'counter',
      help: 'Started builds: first builds, and rebuilds of a damaged, outdated or lost index.',
      samples: samplesBy('kind', { first: firstBuilds, anew: rebuilds }),
    },
    counter('quarry_text_index_failures_total', 'Failures of text indexes.', failures),
    counter(
      'quarry_text_documents_set_aside_total',
      'Documents left out of an index because its worker hung or ended on them twice.',
      documentsSetAside,
    ),
    counter(
      'quarry_text_index_slowed_writes_total',
      'Writes that waited because a text index was far behind.',
      slowedWrites,
    ),
    counter(
      'quarry_text_index_questions_total',
      'Questions to text indexes of this node, for its own queries and for those of other nodes.',
      questions,
    ),
  ]
}
