// A second kind of index, to show that neither shard nor host knows any: which documents have exactly
// this value in this field. It keeps everything in one file, written whole at each flush.

import { linkSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import { isJsonRecord } from '../../../lib/json-record.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import { DISK_WORK_HERE, type DiskWork } from '../../../node/index/files/disk-work.ts'
import { replaceDurably } from '../../../node/index/files/durable-file.ts'
import { unpackBatch, type DocumentBatch } from '../../../node/index/host/document-batch.ts'
import { NOTHING_DROPPED } from '../../../node/index/host/drop-report.ts'
import type {
  AskedQuestion,
  EngineFamily,
  IndexEngine,
  IndexReport,
  IndexSnapshot,
  OnDocument,
  TakenBatch,
} from '../../../node/index/host/index-engine.ts'
import type { IndexKind } from '../../../node/index/host/index-kind.ts'

export interface ExactRequest {
  readonly field: string
  readonly value: string | number
}

export interface ExactAnswer {
  /** In ascending order. */
  readonly keys: readonly string[]
}

export interface ExactQuestions {
  readonly search: { readonly request: ExactRequest; readonly answer: ExactAnswer }
}

declare module '../../../node/index/kinds/index-questions.ts' {
  interface IndexQuestions {
    readonly exact: ExactQuestions
  }
}

export const EXACT_KIND: IndexKind = {
  type: 'exact',
  cacheNames: [],
  joined: new Set(),
  identityOf: (_, request) => [request],
}

/** The bound is low, so that tests meet it. */
const UNFLUSHED_BYTES_MAX = 64 * 1024
const FILE = 'exact.json'
const KEYS_PER_STEP = 64

interface StoredIndex {
  readonly checkpoint: number
  readonly documents: readonly (readonly [string, Fields])[]
}

type Fields = Readonly<Record<string, unknown>>

export function openExactFamily({
  disk = DISK_WORK_HERE,
}: {
  readonly disk?: DiskWork
} = {}): EngineFamily {
  return {
    unflushedBytesMax: UNFLUSHED_BYTES_MAX,
    *open({ directory }) {
      yield
      return { kind: 'open', engine: new ExactEngine(directory, disk) }
    },
    caches: () => ({}),
  }
}

class ExactEngine implements IndexEngine {
  readonly #directory: string | undefined
  readonly #documents: Map<string, Fields>
  readonly isAdding = false
  #applied: number
  checkpoint: number
  unflushedBytes = 0
  readonly #disk: DiskWork
  #isClosed = false

  constructor(directory: string | undefined, disk: DiskWork) {
    this.#disk = disk
    const stored = directory === undefined ? undefined : readIndex(directory)
    if (directory !== undefined) mkdirSync(directory, { recursive: true })
    this.#directory = directory
    this.#documents = new Map(stored?.documents)
    this.checkpoint = stored?.checkpoint ?? 0
    this.#applied = this.checkpoint
  }

  *learn(): Sliced<void> {}

  *setSchema(): Sliced<void> {}

  *apply(batch: DocumentBatch, onDocument: OnDocument): Sliced<TakenBatch> {
    let taken = 0
    for (const { key, json } of unpackBatch(batch)) {
      const name = Buffer.from(key).toString()
      onDocument(taken)
      if (json === undefined) this.#documents.delete(name)
      else this.#documents.set(name, fieldsOf(json))
      this.unflushedBytes += key.length + (json?.length ?? 0)
      taken += 1
      onDocument(undefined)
      yield
    }
    this.#applied = Math.max(this.#applied, batch.sequence)
    return { taken, undecided: [] }
  }

  *flush(sequence: number): Paced<void> {
    yield
    this.#applied = Math.max(this.#applied, sequence)
    const flushed = this.#applied
    const file = this.#file
    if (file !== undefined) yield* replaceDurably(file, this.#bytes(), this.#disk)
    if (this.#isClosed) throw new ServiceError('UNAVAILABLE', 'the index was closed')
    this.unflushedBytes = 0
    this.checkpoint = Math.max(this.checkpoint, flushed)
  }

  makeRoom(): undefined {
    this.#write()
  }

  maintain(): boolean {
    return false
  }

  *answer({ question, request }: AskedExact): Sliced<ExactAnswer> {
    if (question !== 'search') {
      throw new ServiceError('INVALID_ARGUMENT', `an exact index does not answer "${question}"`)
    }
    const documents = [...this.#documents]
    const keys: string[] = []
    for (const [i, [key, fields]] of documents.entries()) {
      if (fields[request.field] === request.value) keys.push(key)
      if (i % KEYS_PER_STEP === KEYS_PER_STEP - 1) yield
    }
    return { keys: keys.toSorted() }
  }

  report(): IndexReport {
    const bytesOnDisk = this.#directory === undefined ? 0 : sizeIfPresent(this.#directory)
    const { size: documents } = this.#documents
    return { documents, bytesOnDisk, bytesInMemory: this.unflushedBytes, dropped: NOTHING_DROPPED }
  }

  snapshot(directory: string): IndexSnapshot {
    if (this.#directory === undefined) {
      throw new ServiceError('INVALID_ARGUMENT', 'an index in memory has no files')
    }
    if (sizeIfPresent(this.#directory) === 0) return { checkpoint: 0, files: [] }
    linkSync(path.join(this.#directory, FILE), path.join(directory, FILE))
    return {
      checkpoint: this.checkpoint,
      files: [{ name: FILE, bytes: sizeIfPresent(this.#directory) }],
    }
  }

  close(): void {
    this.#isClosed = true
    this.#documents.clear()
  }

  /** A rename, so that files of snapshots stay as they are. */
  #write(): void {
    this.unflushedBytes = 0
    const file = this.#file
    if (file === undefined) return
    writeFileSync(`${file}.room`, this.#bytes(), { flush: true })
    renameSync(`${file}.room`, file)
    this.checkpoint = this.#applied
  }

  get #file(): string | undefined {
    return this.#directory === undefined ? undefined : path.join(this.#directory, FILE)
  }

  #bytes(): Uint8Array {
    const stored: StoredIndex = { checkpoint: this.#applied, documents: [...this.#documents] }
    return Buffer.from(JSON.stringify(stored))
  }
}

interface AskedExact extends AskedQuestion {
  readonly request: ExactRequest
}

function readIndex(directory: string): StoredIndex | undefined {
  const file = path.join(directory, FILE)
  if (sizeIfPresent(directory) === 0) return undefined
  try {
    const stored: StoredIndex = JSON.parse(readFileSync(file, 'utf8'))
    return stored
  } catch (error) {
    if (isServiceError(error)) throw error
    throw new ServiceError('CORRUPTION', `${FILE} is damaged; rebuild the index`, { cause: error })
  }
}

function sizeIfPresent(directory: string): number {
  return statSync(path.join(directory, FILE), { throwIfNoEntry: false })?.size ?? 0
}

function fieldsOf(json: Uint8Array): Fields {
  const document: unknown = JSON.parse(Buffer.from(json).toString())
  return isJsonRecord(document) ? document : {}
}
