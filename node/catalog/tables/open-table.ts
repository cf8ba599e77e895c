import { assert, must } from '../../../lib/assert.ts'
import type { IndexDefinition } from '../../index/host/index-definition.ts'
import type { KeyInterval } from '../../shard/command/command.ts'
import { DocumentRules, type TtlPolicy } from '../../schema/document-rules.ts'
import type { Shard } from '../../shard/shard.ts'
import { rangeContains } from '../../shard/command/key-range.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { TableSettings } from '../../shard/command/table-settings.ts'
import type { EmbeddingsIndex } from '../../embedding/written-embeddings.ts'
import { embeddingsIndexesOf, indexesOf } from './table-indexes.ts'
import type { TableRecord } from '../records/table-record.ts'

/** A table as this node serves it: its record, its compiled rules and its shards in key order. */
export class OpenTable implements TableSettings {
  readonly record: TableRecord
  readonly rules: DocumentRules
  readonly ttl: TtlPolicy | undefined
  readonly indexes: readonly IndexDefinition[]
  /** Those that have vectors, by name. */
  readonly embeddings: ReadonlyMap<string, EmbeddingsIndex>
  readonly shards: readonly Shard[]

  constructor(record: TableRecord, shards: readonly Shard[]) {
    this.record = record
    this.rules = new DocumentRules(record.schema)
    this.ttl = ttlOf(record, this.rules)
    this.indexes = indexesOf(record)
    this.embeddings = embeddingsIndexesOf(this.indexes)
    this.shards = shards
  }

  get tableId(): string {
    return this.record.tableId
  }

  get tableName(): string {
    return this.record.name
  }

  get schema(): TableSchema | undefined {
    return this.record.schema
  }

  /** The shard that owns the key. */
  shardOf(key: Buffer): Shard {
    return must(this.shards[this.#indexOf(key)], 'a shard for every key')
  }

  /** The shards that own keys of the interval, both ends included. */
  shardsMeeting({ first, last }: Pick<KeyInterval, 'first' | 'last'>): readonly Shard[] {
    return this.shards.slice(this.#indexOf(first), this.#indexOf(last) + 1)
  }

  /** A binary search over the starts of the ranges. */
  #indexOf(key: Buffer): number {
    let low = 0
    let high = this.shards.length - 1
    while (low < high) {
      const middle = (low + high + 1) >> 1
      const shard = must(this.shards[middle], 'a shard within bounds')
      if (shard.range.start.compare(key) <= 0) low = middle
      else high = middle - 1
    }
    const found = must(this.shards[low], 'a table has at least one shard')
    assert(rangeContains(found.range, key), 'a shard for every key')
    return low
  }
}

/**
 * The policy stamped into records carries the table's own TTL generation, which changes only with
 * the TTL, so that another change of the schema does not make every record's expiry suspect.
 */
function ttlOf(record: TableRecord, rules: DocumentRules): TtlPolicy | undefined {
  return rules.ttl === undefined ? undefined : { ...rules.ttl, generation: record.ttlGeneration }
}
