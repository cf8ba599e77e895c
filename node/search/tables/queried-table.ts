// What a query sees of a table, and of the parts of the node that it may need.

import type { Clock } from '../../../lib/clock.ts'
import type { WrittenVector } from '../../embedding/vector-forms.ts'
import type { Projection } from '../../document/projection.ts'
import type { VectorSpace } from '../../query/request/vector-check.ts'
import type { TableField } from '../../schema/table-field.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { Shard } from '../../shard/shard.ts'
import type { SpecialReader } from '../../reads/special/special-reader.ts'
import type { EventLoopTurns } from './event-loop-turns.ts'
import type { QueryModels } from '../models/query-models.ts'

/** The methods of a shard that a query calls. */
export type QueriedShard = Pick<Shard, 'read' | 'search' | 'indexAtOnce'>

/** An index of vectors. */
export type QueriedVectors = VectorSpace & {
  readonly name: string
  /** Whether the product embeds documents and queries; otherwise clients send all vectors. */
  readonly isManaged: boolean
}

/** A part of a document in an index of vectors. */
export interface FoundPart {
  readonly index: string
  readonly key: Buffer
  /** Its number. */
  readonly chunk: number
}

/** A table as a query sees it. Its shards are in key order and cover every key once. */
export interface QueriedTable {
  readonly name: string
  readonly schema: TableSchema | undefined
  /** The names of its full-text indexes, the default first. */
  readonly textIndexes: readonly string[]
  readonly vectorIndexes: readonly QueriedVectors[]
  readonly shards: readonly QueriedShard[]
  shardOf(key: Buffer): QueriedShard
  /**
   * The vectors that an index has of a document, undefined if it has none. Absent: this node cannot read
   * them.
   */
  readonly vectorsOf?:
    | ((
        index: string,
        key: Buffer,
        signal: AbortSignal,
      ) => Promise<readonly WrittenVector[] | undefined>)
    | undefined
  /** The indexes among these of which no shard has a vector. A shard that does not answer may have some. */
  readonly emptyVectors?: ((names: readonly string[]) => Promise<ReadonlySet<string>>) | undefined
  /** The text of a part that an index found; undefined if the index keeps none. Absent: no index keeps any. */
  readonly chunkTextOf?:
    ((part: FoundPart, signal: AbortSignal) => Promise<string | undefined>) | undefined
  /** Reads what indexes keep of documents, as far as the projection asks. Absent: nothing is kept. */
  readonly specialOf?: (projection: Projection, signal: AbortSignal) => Pick<SpecialReader, 'read'>
  /** The table's list of fields, for filters that no index answers. Absent: it has none. */
  readonly fieldsNow?: () => Promise<readonly TableField[]>
  /**
   * How often a shard's questions have gone to another replica than the ones before. Absent: each shard answers
   * from one index.
   */
  readonly moves?: () => number
}

/** The parts that all queries of a node share. */
export interface QueryParts {
  readonly clock: Clock
  readonly turns: EventLoopTurns
  /** Undefined: this node has none. */
  readonly models?: QueryModels | undefined
}
