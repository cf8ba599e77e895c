// Whether the vectors that a record of a merge brings are those that its document has.

import { must } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import type { Insert } from '../../document/writes.ts'
import { ordinalOfArtifact, withArtifactOrdinal } from '../../embedding/artifact.ts'
import { readEmbeddings, type ArtifactWrite } from '../../embedding/written-embeddings.ts'
import type { FoundArtifacts, ScanRow } from '../../shard/shard.ts'
import type { OpenTable } from '../../catalog/tables/open-table.ts'

/** Documents that are asked for at once. */
const KEYS_AT_ONCE = 256
const EMPTY_OBJECT_BYTES = '{}'.length

/** Compares the vectors of records with those of the table. */
export class MergedEmbeddings {
  readonly #table: OpenTable
  readonly #signal: AbortSignal | undefined
  /** The keys of the records that bring vectors. */
  readonly #bringing: ReadonlySet<string>
  readonly #found = new Map<string, FoundArtifacts>()

  constructor(table: OpenTable, records: readonly Insert[], signal: AbortSignal | undefined) {
    this.#table = table
    this.#signal = signal
    const bringing = records.filter(({ embeddings }) => embeddings !== undefined)
    this.#bringing = new Set(bringing.map(({ key }) => nameOf(key)))
  }

  /** Reads what the table has for the rows of a page whose records bring vectors. */
  async read(page: readonly ScanRow[]): Promise<void> {
    this.#found.clear()
    if (this.#bringing.size === 0 || this.#table.embeddings.size === 0) return
    const keys = page.map(({ key }) => key).filter((key) => this.#bringing.has(nameOf(key)))
    const indexes = [...this.#table.embeddings.values()].map(({ id }) => id)
    for (let at = 0; at < keys.length;) {
      const shard = this.#table.shardOf(must(keys[at], 'a key of the page'))
      const some = keys
        .slice(at, at + KEYS_AT_ONCE)
        .filter((key) => this.#table.shardOf(key) === shard)
      const found = await shard.artifacts({ keys: some, indexes }, { signal: this.#signal })
      for (const [i, artifacts] of found.entries()) {
        this.#found.set(nameOf(must(some[i], 'a key of the call')), artifacts)
      }
      at += found.length
    }
  }

  /** INVALID_ARGUMENT for vectors that no index of the table takes. `row` is among those that were read last. */
  *isSame({ key, embeddings }: Insert, row: ScanRow | undefined): Sliced<boolean> {
    if (embeddings === undefined) return true
    const writes = yield* readEmbeddings(embeddings, this.#table.embeddings)
    const found = row && this.#found.get(nameOf(key))
    const ids = [...this.#table.embeddings.values()].map(({ id }) => id)
    return writes.every((write) => isWritten(write, found?.[ids.indexOf(write.index)]))
  }
}

/** Whether the record has vectors alone, so that its document keeps its body; refused without a document. */
export function keepsBody({ json, embeddings }: Insert, row: ScanRow | undefined): boolean {
  if (embeddings === undefined || json.length > EMPTY_OBJECT_BYTES) return false
  if (row !== undefined) return true
  const problem = 'the record has only _embeddings, and there is no document under this key'
  throw new ServiceError('INVALID_ARGUMENT', `${problem}; send its fields too`)
}

function isWritten({ artifact }: ArtifactWrite, found: Buffer | undefined): boolean {
  if (artifact === undefined || found === undefined) return artifact === found
  return withArtifactOrdinal(artifact, ordinalOfArtifact(found)).equals(found)
}

function nameOf(key: Buffer): string {
  return key.toString('latin1')
}
