import { must } from '../../lib/assert.ts'
import { StepMeter, type Sliced } from '../../lib/sliced.ts'
import type { TtlPolicy } from '../schema/document-rules.ts'
import { located, shownKey } from '../document/document-limits.ts'
import type { Insert, ReadClaim, TableWrites } from '../document/writes.ts'
import { readEmbeddings, type ArtifactWrite } from '../embedding/written-embeddings.ts'
import { timestampOf } from '../clock/hybrid-clock.ts'
import type { KeyInterval, ShardAddress, VersionCheck, WriteOp } from '../shard/command/command.ts'
import type { Shard } from '../shard/shard.ts'
import type { OpenTable } from '../catalog/tables/open-table.ts'

/** About a millisecond of checking and sorting. */
const OPS_PER_STEP = 500
/** Checking 256 bytes of a document takes as long as sorting one operation. */
const BYTES_PER_OP = 256
const NO_KEYS: ReadonlySet<string> = new Set()
const NO_ARTIFACTS: readonly ArtifactWrite[] = []
const EMPTY_OBJECT_BYTES = '{}'.length
/** About a millisecond of comparing keys. */
const COMPARED_PER_STEP = 5000

/** The reads and writes of one transaction on one shard. */
export interface TransactionPart {
  readonly table: OpenTable
  readonly shard: Shard
  readonly tableId: string
  readonly ttl: TtlPolicy | undefined
  readonly checks: VersionCheck[]
  readonly ops: WriteOp[]
}

/** A written key of the part, or a read one when nothing is written. */
export function addressOf({ tableId, ops, checks }: TransactionPart): ShardAddress {
  return { tableId, key: must(ops[0] ?? checks[0], 'a part has a key').key }
}

/** The smallest interval that holds all keys of the part. */
export function* intervalOf({ tableId, ops, checks }: TransactionPart): Sliced<KeyInterval> {
  const meter = new StepMeter(COMPARED_PER_STEP)
  let first: Buffer | undefined
  let last: Buffer | undefined
  for (const items of [ops, checks]) {
    for (const { key } of items) {
      if (first === undefined || key.compare(first) < 0) first = key
      if (last === undefined || key.compare(last) > 0) last = key
      if (meter.spend(1)) yield
    }
  }
  return { tableId, first: must(first, 'a part has a key'), last: must(last, 'a part has a key') }
}

/** What is read of a document: its body, and its vectors. */
function bytesOf({ json, embeddings }: Insert): number {
  return json.length + (embeddings?.length ?? 0)
}

/** The keys of a request that are deleted and then inserted, where that matters: their vectors go. */
function renewedKeys(
  { embeddings }: OpenTable,
  { deletes, inserts }: TableWrites,
): ReadonlySet<string> {
  if (embeddings.size === 0 || deletes.length === 0 || inserts.length === 0) return NO_KEYS
  return new Set(deletes.map((key) => key.toString('latin1')))
}

/** A document whose body is empty beside vectors keeps the body that is stored. */
function* insertOp(
  table: OpenTable,
  { key, json, embeddings }: Insert,
  renewed: ReadonlySet<string>,
): Sliced<WriteOp> {
  const written =
    embeddings === undefined ? NO_ARTIFACTS : yield* artifactsOf(table, key, embeddings)
  if (embeddings !== undefined && json.length === EMPTY_OBJECT_BYTES) {
    return { kind: 'artifacts', key, artifacts: written }
  }
  const isRenewed = renewed.size > 0 && renewed.has(key.toString('latin1'))
  const artifacts = isRenewed ? [...removalsOf(table, written), ...written] : written
  // Without a schema there is nothing to check, and so nothing that would take steps.
  const { rules } = table
  const { json: stored, expiry } = rules.free(json) ?? (yield* rules.checkSliced(key, json))
  const put = { kind: 'put', key, json: stored, expiry } as const
  return artifacts.length === 0 ? put : { ...put, artifacts }
}

function* artifactsOf(
  { embeddings: indexes }: OpenTable,
  key: Buffer,
  embeddings: Buffer,
): Sliced<readonly ArtifactWrite[]> {
  try {
    return yield* readEmbeddings(embeddings, indexes)
  } catch (error) {
    throw located(`document ${shownKey(key.toString())}`, error)
  }
}

/** For the indexes that the document gives no vector. */
function removalsOf(
  { embeddings }: OpenTable,
  written: readonly ArtifactWrite[],
): readonly ArtifactWrite[] {
  return [...embeddings.values()]
    .filter(({ id }) => !written.some(({ index }) => index === id))
    .map(({ id }) => ({ index: id, artifact: undefined }))
}

/** Sorts the reads and writes of a request by the shard that owns them. */
export class PartCollector {
  readonly #parts = new Map<Shard, TransactionPart>()

  get parts(): readonly TransactionPart[] {
    return [...this.#parts.values()]
  }

  addCheck(table: OpenTable, key: Buffer, version: VersionCheck['version']): void {
    this.#partOf(table, key).checks.push({ key, version })
  }

  addOp(table: OpenTable, op: WriteOp): void {
    this.#partOf(table, op.key).ops.push(op)
  }

  /** `tableOf` throws for a name that no table has. */
  *addClaims(claims: readonly ReadClaim[], tableOf: (name: string) => OpenTable): Sliced<void> {
    const meter = new StepMeter(OPS_PER_STEP)
    for (const { table, key, version } of claims) {
      this.addCheck(tableOf(table), key, timestampOf(version))
      if (meter.spend(1)) yield
    }
  }

  /** Checks every document against the table's rules first; throws INVALID_ARGUMENT for one. */
  *addWrites(table: OpenTable, writes: TableWrites): Sliced<void> {
    const meter = new StepMeter(OPS_PER_STEP)
    for (const key of writes.deletes) {
      this.addOp(table, { kind: 'delete', key })
      if (meter.spend(1)) yield
    }
    const renewed = renewedKeys(table, writes)
    for (const insert of writes.inserts) {
      this.addOp(table, yield* insertOp(table, insert, renewed))
      if (meter.spend(1 + bytesOf(insert) / BYTES_PER_OP)) yield
    }
    for (const transform of writes.transforms) {
      this.addOp(table, { kind: 'transform', key: transform.key, transform })
      if (meter.spend(1)) yield
    }
  }

  #partOf(table: OpenTable, key: Buffer): TransactionPart {
    const shard = table.shardOf(key)
    const known = this.#parts.get(shard)
    if (known !== undefined) return known
    const part: TransactionPart = {
      table,
      shard,
      tableId: table.record.tableId,
      ttl: table.ttl,
      checks: [],
      ops: [],
    }
    this.#parts.set(shard, part)
    return part
  }
}
