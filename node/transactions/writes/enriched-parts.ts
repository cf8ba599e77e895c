// Puts the vectors of managed indexes beside the documents of a write, before it is committed.
//
//   documents ─► sources ─► stored artifact has the same hash? it is written again : it is made ─► put
//
// A stored artifact is written again with its document, because the document may be deleted and written anew between
// the look and the write: then the old one is dead.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import { SliceClock } from '../../../lib/sliced.ts'
import { shownKey } from '../../document/document-limits.ts'
import { decodeArtifact, encodeArtifact } from '../../embedding/artifact.ts'
import { isManaged } from '../../embedding/settings.ts'
import type { ArtifactWrite } from '../../embedding/written-embeddings.ts'
import type { Enrichment, Made, Source } from '../../enrichment/enrichment.ts'
import type { ManagedIndex } from '../../enrichment/open-enrichment.ts'
import type { ModelPool } from '../../providers/pool/model-pool.ts'
import type { WriteOp } from '../../shard/command/command.ts'
import type { OpenTable } from '../../catalog/tables/open-table.ts'
import type { TransactionPart } from '../transaction-part.ts'
import type { VectorShare } from './held-vectors.ts'

/** What vectors are made with. */
export interface EnrichedPartsOptions {
  readonly clock: Clock
  readonly enrichments: ModelPool<ManagedIndex, Enrichment>
  readonly signal: AbortSignal
  readonly memory: VectorShare
  /** Whether a document without a vector is written all the same. */
  readonly isBestEffort: boolean
}

/** Operations that are looked at together: documents for as many items as a provider is asked about at once. */
const WINDOW_OPS = 256

type Put = Extract<WriteOp, { readonly kind: 'put' }>

/** A source that needs a vector, and the document it belongs to. */
interface Wanted {
  readonly put: Put
  readonly source: Source
}

/** The indexes of a table for which the store makes vectors. */
export function managedIndexesOf({ embeddings }: OpenTable): readonly ManagedIndex[] {
  return [...embeddings].flatMap(([name, { id, settings }]) =>
    isManaged(settings) ? [{ id, name, settings }] : [],
  )
}

/** Enriches the parts of one request. */
export class EnrichedParts {
  readonly #with: EnrichedPartsOptions

  constructor(options: EnrichedPartsOptions) {
    this.#with = options
  }

  /**
   * The part with artifacts beside its documents. Rejects with what the first refused document is refused for, naming
   * document and index, and as `Enrichment.make` does, naming the index; with best effort neither happens.
   */
  async enrich(part: TransactionPart): Promise<TransactionPart> {
    const indexes = managedIndexesOf(part.table)
    if (indexes.length === 0) return part
    const ops: WriteOp[] = []
    const turns = new SliceClock(this.#with.clock)
    for (let at = 0; at < part.ops.length; at += WINDOW_OPS) {
      ops.push(...(await this.#enrichSome(part, part.ops.slice(at, at + WINDOW_OPS), indexes)))
      if (turns.isOver) await turns.turn()
    }
    return { ...part, ops }
  }

  async #enrichSome(
    part: TransactionPart,
    ops: readonly WriteOp[],
    indexes: readonly ManagedIndex[],
  ): Promise<readonly WriteOp[]> {
    const puts = ops.filter((op) => op.kind === 'put')
    if (puts.length === 0) return ops
    const written = new Map<WriteOp, ArtifactWrite[]>()
    const stored = await this.#storedOf(part, puts, indexes)
    for (const [i, index] of indexes.entries()) {
      const of = (put: Put): Buffer | undefined => stored.get(put)?.[i]
      await this.#enrichFor(index, puts, { stored: of, written })
    }
    return ops.map((op) => withArtifacts(op, written.get(op)))
  }

  async #storedOf(
    { shard }: TransactionPart,
    puts: readonly Put[],
    indexes: readonly ManagedIndex[],
  ): Promise<ReadonlyMap<Put, readonly (Buffer | undefined)[]>> {
    const stored = new Map<Put, readonly (Buffer | undefined)[]>()
    for (let at = 0; at < puts.length;) {
      const keys = puts.slice(at).map(({ key }) => key)
      const asked = { keys, indexes: indexes.map(({ id }) => id) }
      const found = await shard.artifacts(asked, { signal: this.#with.signal })
      for (const [i, artifacts] of found.entries()) {
        const put = puts[at + i]
        if (put !== undefined) stored.set(put, artifacts)
      }
      at += found.length
    }
    return stored
  }

  async #enrichFor(
    index: ManagedIndex,
    puts: readonly Put[],
    { stored, written }: ArtifactsHere,
  ): Promise<void> {
    const keep = (put: Put, artifact: Buffer): void => {
      this.#with.memory.take(artifact.length)
      const known = written.get(put)
      if (known === undefined) written.set(put, [{ index: index.id, artifact }])
      else known.push({ index: index.id, artifact })
    }
    await this.#with.enrichments.use(index, async (enrichment) => {
      let batch: Wanted[] = []
      let bytes = 0
      const turns = new SliceClock(this.#with.clock)
      for (const put of puts) {
        if (turns.isOver) await turns.turn()
        const source = await this.#sourceOf(enrichment, index, put)
        if (source === undefined) continue
        const before = stored(put)
        if (before !== undefined && isMadeOf(before, source)) {
          keep(put, before)
          continue
        }
        if (batch.length > 0 && bytes + source.bytes > enrichment.batch.bytes) {
          await this.#make(enrichment, index, { batch, keep })
          batch = []
          bytes = 0
        }
        batch.push({ put, source })
        bytes += source.bytes
      }
      await this.#make(enrichment, index, { batch, keep })
    })
  }

  /** Undefined: the document has no source, and is written without a vector. */
  async #sourceOf(
    enrichment: Enrichment,
    index: ManagedIndex,
    { key, json }: Put,
  ): Promise<Source | undefined> {
    const { signal, isBestEffort } = this.#with
    try {
      return await enrichment.sourceOf({ key, json }, { signal })
    } catch (error) {
      if (!isServiceError(error) || error.code !== 'INVALID_ARGUMENT') throw error
      if (isBestEffort) return undefined
      throw failureOf(index, key, { kind: 'refused', message: error.message })
    }
  }

  async #make(
    enrichment: Enrichment,
    index: ManagedIndex,
    { batch, keep }: { batch: readonly Wanted[]; keep: (put: Put, artifact: Buffer) => void },
  ): Promise<void> {
    for (let at = 0; at < batch.length; at += enrichment.batch.items) {
      const some = batch.slice(at, at + enrichment.batch.items)
      const made = await this.#madeOf(enrichment, index, some)
      for (const [i, one] of made.entries()) {
        const put = some[i]?.put
        if (put === undefined) continue
        if (one.kind === 'made') keep(put, encodeArtifact(one.artifact))
        else if (!this.#with.isBestEffort) throw failureOf(index, put.key, one)
      }
    }
  }

  async #madeOf(
    enrichment: Enrichment,
    index: ManagedIndex,
    batch: readonly Wanted[],
  ): Promise<readonly Made[]> {
    const { signal, isBestEffort } = this.#with
    try {
      return await enrichment.make(
        batch.map(({ source }) => source),
        { signal },
      )
    } catch (error) {
      signal.throwIfAborted()
      if (!isServiceError(error)) throw error
      if (isBestEffort) return []
      const [first] = batch
      const key = shownKey(first?.put.key.toString() ?? '')
      // The client is not to blame for a model that answers another dimension than before.
      const code = error.code === 'INVALID_ARGUMENT' ? 'UNAVAILABLE' : error.code
      throw new ServiceError(code, `document ${key}: index "${index.name}": ${error.message}`)
    }
  }
}

interface ArtifactsHere {
  readonly stored: (put: Put) => Buffer | undefined
  readonly written: Map<WriteOp, ArtifactWrite[]>
}

/** A parked one tells only that it failed before. */
function isMadeOf(artifact: Buffer, { hash }: Source): boolean {
  const { kind, sourceHash } = decodeArtifact(artifact)
  return kind === 'dense' && sourceHash !== undefined && hash.equals(sourceHash)
}

/** The write with these artifacts, in place of its own for the same indexes. */
function withArtifacts(op: WriteOp, artifacts: readonly ArtifactWrite[] | undefined): WriteOp {
  if (op.kind !== 'put' || artifacts === undefined) return op
  const others = (op.artifacts ?? []).filter(
    ({ index }) => !artifacts.some((made) => made.index === index),
  )
  return { ...op, artifacts: [...others, ...artifacts] }
}

function failureOf(
  { name }: ManagedIndex,
  key: Buffer,
  { kind, message }: Exclude<Made, { readonly kind: 'made' }>,
): ServiceError {
  const code = kind === 'away' ? 'UNAVAILABLE' : 'INVALID_ARGUMENT'
  return new ServiceError(code, `document ${shownKey(key.toString())}: index "${name}": ${message}`)
}
