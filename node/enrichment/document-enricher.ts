// What is done for one document: read it, compare the hash of its source, ask the models, write what they made.

import { createHash } from 'node:crypto'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import { SliceClock } from '../../lib/sliced.ts'
import {
  decodeArtifact,
  encodeArtifact,
  headOfArtifact,
  type DenseArtifact,
} from '../embedding/artifact.ts'
import type { EnrichedDocument } from '../shard/command/enrich-command.ts'
import {
  jsonOf,
  ordinalOf,
  versionOf,
  type DocumentRecord,
} from '../shard/format/document-record.ts'
import { artifactKey, documentKey } from '../shard/format/keyspace.ts'
import { isVisible } from '../shard/format/visibility.ts'
import type { LedShard } from '../shard/led-shard.ts'
import type { ArtifactWriter } from './artifact-writer.ts'
import type { Ending } from './ending.ts'
import type { Source } from './enrichment.ts'
import type { EnrichmentRoom, Entrance, Permit } from './enrichment-room.ts'
import type { KeyTask, Retry } from './key-tasks.ts'
import type { ParkedDocuments } from './parked-documents.ts'
import type { ModelLine } from './model-line.ts'
import type { LineAnswer } from './order-queue.ts'
import { isDueIn } from './enrichment-backoff.ts'
import { ATTEMPTS_MAX, MODEL_ATTEMPTS_MAX, NO_TRIES, type Tries } from './tries.ts'

/** No row has it: it only keeps the artifact of a document without text well-formed. */
const DIMENSION_OF_NOTHING = 1
const HASH_BYTES = 16
/** In UTF-16 units: a status shows some of them. */
const ERROR_LENGTH_MAX = 500

const NOTHING: DenseArtifact = {
  kind: 'dense',
  ordinal: 0,
  sourceHash: undefined,
  dimension: DIMENSION_OF_NOTHING,
  rows: [],
}

/** The document as it was read. */
interface Read {
  readonly key: Buffer
  readonly record: DocumentRecord
  /** The artifact that the document has, if it is for this document. */
  readonly before: Head | undefined
  /** The same, with its rows. */
  readonly stored: Buffer | undefined
  /** Whether there is a mark of a parked artifact. */
  readonly isMarked: boolean
  /** The artifact that is there instead, where a write that brought its own has left the mark. */
  readonly unparked: Buffer | undefined
}

type Head = ReturnType<typeof headOfArtifact>

/** What is known of a document after a look at it. */
type SeenDocument =
  /** The artifact of the document needs no change, or the document is gone. */
  | { readonly kind: 'right' }
  | { readonly kind: 'source'; readonly read: Read; readonly source: Source }
  /** No model is needed to know the artifact. */
  | { readonly kind: 'item'; readonly item: EnrichedDocument }

/** The parts that work on documents together. */
export interface DocumentEnricherOptions {
  readonly led: LedShard
  readonly line: ModelLine
  readonly room: EnrichmentRoom
  readonly writer: ArtifactWriter
  readonly parked: ParkedDocuments
  readonly ending: Ending
  readonly clock: Clock
  /** Called when there is one more document with failed calls, or one less. */
  readonly onRetrying: (change: 1 | -1) => void
}

/** Gives documents of one shard the artifacts of one index. */
export class DocumentEnricher {
  readonly #with: DocumentEnricherOptions
  readonly #slice: SliceClock

  constructor(options: DocumentEnricherOptions) {
    this.#with = options
    this.#slice = new SliceClock(options.clock)
  }

  /** Resolves when the newest state of the document needs nothing more. Rejects with the reason of the end. */
  async enrich(task: KeyTask): Promise<void> {
    const { line, ending, onRetrying } = this.#with
    let tries = NO_TRIES
    try {
      for (;;) {
        await line.places.take(task.lane, ending)
        const later = await this.#once(task, tries)
        if (later === undefined) return
        if (tries.attempts === 0 && later.attempts > 0) onRetrying(1)
        tries = later
      }
    } finally {
      if (tries.attempts > 0) onRetrying(-1)
    }
  }

  /** Called with a place. Answers the tries so far where the models are asked later. */
  async #once(task: KeyTask, tries: Tries): Promise<Tries | undefined> {
    const { line } = this.#with
    const admitted = await this.#admitted(task).catch((error: unknown) => {
      line.places.leave()
      throw error
    })
    try {
      const found = await this.#asked(task, admitted, tries).finally(() => line.places.leave())
      if (found.kind === 'later') return found.tries
      if (found.kind === 'item') await this.#write(found.item, admitted.permit)
      return undefined
    } finally {
      admitted.permit.release()
    }
  }

  /** The document, once there is room for it. */
  async #admitted(task: KeyTask): Promise<Admitted> {
    const { room, line } = this.#with
    if (this.#slice.isOver) await this.#slice.turn()
    const read = this.#read(task)
    const entrance = { owner: line, lane: task.lane, bytes: read?.record.length ?? 0 }
    const permit = room.tryEnter(entrance)
    return permit === undefined ? this.#admittedLater(task, entrance) : { permit, read }
  }

  /** The wait keeps no document in memory; its newest state is read afterwards. */
  async #admittedLater(task: KeyTask, entrance: Entrance): Promise<Admitted> {
    const { room, ending } = this.#with
    const permit = await room.enter(entrance, ending)
    const read = this.#read(task)
    permit.resize(read?.record.length ?? 0)
    return { permit, read }
  }

  #read({ key, onRead }: KeyTask): Read | undefined {
    const { led, line, parked } = this.#with
    onRead()
    const record = led.store.get(documentKey(key))
    if (record === undefined || !isVisible(record, led.ttl, led.nowMs)) return undefined
    const stored = led.store.get(artifactKey(line.enrichment.index, key))
    const head = stored && headOfArtifact(stored)
    const isLive = head !== undefined && head.ordinal === ordinalOf(record)
    const isParked = head?.kind === 'parked'
    const isMarked = isParked || parked.has(key)
    const unparked = isMarked && isLive && !isParked ? stored : undefined
    const live = isLive ? { before: head, stored } : { before: undefined, stored: undefined }
    return { key, record, ...live, isMarked, unparked }
  }

  /** The artifact that the document gets, if it needs another one. */
  async #asked(
    task: KeyTask,
    { permit, read }: Admitted,
    tries: Tries,
  ): Promise<Exclude<SeenDocument, { readonly kind: 'source' }> | LaterAnswer> {
    const { line, ending } = this.#with
    const found = await this.#look(task, read)
    if (found.kind !== 'source') return found
    const { source, read: of } = found
    permit.resize(of.record.length + source.bytes)
    const answer = await line.make({ source, tries, ending })
    if (answer.kind === 'later') return answer
    return { kind: 'item', item: itemOf(of, source.hash, counted(answer, of, source.hash)) }
  }

  async #look({ retry }: KeyTask, read: Read | undefined): Promise<SeenDocument> {
    if (read === undefined) return { kind: 'right' }
    const source = await this.#sourceOf(read)
    const hash = source.kind === 'refused' ? hashOfRefusal(source.message) : source.source.hash
    const { before } = read
    const isSame = before?.sourceHash !== undefined && hash.equals(before.sourceHash)
    if (isSame && read.unparked !== undefined) {
      return { kind: 'item', item: unmarked(read, read.unparked) }
    }
    if (isSame && !isTriedAgain(read, retry)) return { kind: 'right' }
    if (source.kind === 'refused') {
      const refused = { kind: 'refused', attempts: 1, message: source.message } as const
      return { kind: 'item', item: itemOf(read, hash, refused) }
    }
    if (source.source.parts.length > 0) return { ...source, read }
    return { kind: 'item', item: itemOf(read, hash, { kind: 'made', artifact: NOTHING }) }
  }

  async #sourceOf({ key, record }: Read): Promise<SourceOrRefusal> {
    const { line, ending } = this.#with
    try {
      const document = { key, json: jsonOf(record) }
      const source = await line.enrichment.sourceOf(document, { signal: ending.signal })
      return { kind: 'source', source }
    } catch (error) {
      if (!isServiceError(error) || error.code !== 'INVALID_ARGUMENT') throw error
      return { kind: 'refused', message: error.message }
    }
  }

  async #write(item: EnrichedDocument, permit: Permit): Promise<void> {
    permit.resize(item.artifact.length)
    await this.#with.writer.write(item)
    // The task still counts the document.
    if (item.mark === 'refused' || item.mark === 'unreachable') this.#with.parked.note()
  }
}

interface Admitted {
  readonly permit: Permit
  readonly read: Read | undefined
}

type SourceOrRefusal =
  | { readonly kind: 'source'; readonly source: Source }
  | { readonly kind: 'refused'; readonly message: string }

type LaterAnswer = Extract<LineAnswer, { readonly kind: 'later' }>
type AwayAnswer = Extract<LineAnswer, { readonly kind: 'away' }>
type CountedAnswer = Exclude<LineAnswer, LaterAnswer | AwayAnswer>

/** A file that was absent in ATTEMPTS_MAX attempts is missed for good, until the document changes. */
function counted(answer: CountedAnswer | AwayAnswer, read: Read, hash: Buffer): CountedAnswer {
  if (answer.kind !== 'away') return answer
  const { sourceHash } = read.before ?? {}
  const isSame = sourceHash !== undefined && hash.equals(sourceHash)
  const next = (isSame ? attemptsBefore(read) : 0) + 1
  const attempts = answer.part === 'file' ? next : Math.min(next, MODEL_ATTEMPTS_MAX)
  const kind = attempts < ATTEMPTS_MAX ? 'unreachable' : 'refused'
  return { kind, attempts, message: answer.message }
}

/** Fewer attempts than the most: a file or a summarizer was away, and gives no sign when it is back. */
function isTriedAgain(read: Read, retry: Retry | undefined): boolean {
  const attempts = attemptsBefore(read)
  if (retry === undefined || attempts === 0) return false
  if (attempts >= ATTEMPTS_MAX) return true
  return retry.kind === 'round' && isDueIn(retry.number, attempts)
}

/** The failed attempts of a parked artifact; else 0. */
function attemptsBefore({ before, stored }: Read): number {
  if (before?.kind !== 'parked' || stored === undefined) return 0
  const artifact = decodeArtifact(stored)
  return artifact.kind === 'parked' ? artifact.attempts : 0
}

/** The same artifact without the mark. */
function unmarked({ key, record }: Read, artifact: Buffer): EnrichedDocument {
  return { key, version: versionOf(record), artifact, mark: 'removed' }
}

function itemOf(
  { key, record, isMarked }: Read,
  hash: Uint8Array,
  answer: CountedAnswer,
): EnrichedDocument {
  const version = versionOf(record)
  const head = { ordinal: 0, sourceHash: hash }
  if (answer.kind === 'made') {
    const artifact = encodeArtifact({ ...answer.artifact, ...head })
    return { key, version, artifact, mark: isMarked ? 'removed' : 'none' }
  }
  const { attempts, message, kind: mark } = answer
  const texts = { error: message.slice(0, ERROR_LENGTH_MAX).toWellFormed() }
  const artifact = encodeArtifact({ ...head, kind: 'parked', attempts, texts })
  return { key, version, artifact, mark }
}

/** A source that cannot be read has no hash of its own. The same refusal parks it once. */
function hashOfRefusal(message: string): Buffer {
  return createHash('sha256').update('refused ').update(message).digest().subarray(0, HASH_BYTES)
}
