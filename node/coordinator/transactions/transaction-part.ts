import type { TtlPolicy } from '../../schema/document-rules.ts'
import type { ReadClaim, TableWrites } from '../../document/writes.ts'
import { timestampOf } from '../../clock/hybrid-clock.ts'
import type { ShardAddress, VersionCheck, WriteOp } from '../../shard/apply/command.ts'
import type { Shard } from '../../shard/shard.ts'
import type { OpenTable } from '../tables/open-table.ts'

/** What one transaction wants of one shard. */
export interface TransactionPart {
  readonly table: OpenTable
  readonly shard: Shard
  /** Any key of the part: it finds the shard again, wherever that has moved. */
  readonly address: ShardAddress
  readonly ttl: TtlPolicy | undefined
  readonly checks: VersionCheck[]
  readonly ops: WriteOp[]
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

  addClaim(table: OpenTable, { key, version }: ReadClaim): void {
    this.addCheck(table, key, timestampOf(version))
  }

  /** Checks every document against the table's rules first; throws INVALID_ARGUMENT for one. */
  addWrites(table: OpenTable, writes: TableWrites): void {
    for (const key of writes.deletes) this.addOp(table, { kind: 'delete', key })
    for (const { key, json } of writes.inserts) {
      this.addOp(table, { kind: 'put', key, ...table.rules.check(key, json) })
    }
    for (const transform of writes.transforms) {
      this.addOp(table, { kind: 'transform', key: transform.key, transform })
    }
  }

  #partOf(table: OpenTable, key: Buffer): TransactionPart {
    const shard = table.shardOf(key)
    const known = this.#parts.get(shard)
    if (known !== undefined) return known
    const part: TransactionPart = {
      table,
      shard,
      address: { tableId: table.record.tableId, key },
      ttl: table.ttl,
      checks: [],
      ops: [],
    }
    this.#parts.set(shard, part)
    return part
  }
}
