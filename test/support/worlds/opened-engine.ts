// An engine behind the seam of index workers, beside its table's list of fields.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { runAtOnce } from '../../../lib/sliced.ts'
import { DISK_WORK_HERE, type DiskWork } from '../../../node/index/files/disk-work.ts'
import { packBatch, type DocumentChange } from '../../../node/index/host/document-batch.ts'
import type {
  AskedQuestion,
  EngineFamily,
  IndexEngine,
  IndexOpening,
  Question,
  TakenBatch,
} from '../../../node/index/host/index-engine.ts'
import type { IndexDivision } from '../../../node/index/host/index-kind.ts'
import type { TableField } from '../../../node/schema/table-field.ts'

/** A kind of index, and how to ask it for the documents that have `word` in the field `text`. */
export interface EngineUnderTest {
  readonly kind: string
  openFamily(disk: DiskWork): EngineFamily
  find(word: string): AskedQuestion
  /** What the definition of an index of the kind has besides. */
  readonly settings?: unknown
  /** What the log brings of a document with the word in the field `text`. Default: its JSON. */
  readonly change?: (key: string, text: string) => DocumentChange
  /** Whether small segments become larger ones. */
  readonly merges: boolean
  /** All others are refused. */
  readonly answers: readonly Question[]
  /** An answer of the engine, or of a reader, as those read it who asked. Absent: as it is. */
  received?(answer: unknown): unknown
  /** The keys that a received answer names. */
  keysOf(answer: unknown): readonly string[]
  /** Set for a kind whose engines divide answers. */
  readonly division?: IndexDivision
  /** A file of a flushed index, damage of which has to be noticed when the index is opened. */
  isVital(file: string): boolean
}

interface Place {
  readonly directory: string | undefined
  /** Default: this thread syncs. */
  readonly disk?: DiskWork
}

/** An engine beside its table's list of fields, which takes whatever documents bring. */
export class OpenedEngine implements Disposable {
  readonly family: EngineFamily
  readonly engine: IndexEngine
  readonly #tested: EngineUnderTest
  readonly #fields: TableField[]

  constructor(
    tested: EngineUnderTest,
    fields: TableField[],
    { directory, disk = DISK_WORK_HERE }: Place,
  ) {
    const opening: IndexOpening = {
      definition: {
        id: '0123456789abcdef',
        kind: tested.kind,
        name: 'tested',
        memOnly: directory === undefined,
        settings: tested.settings,
      },
      directory,
      source: { kind: 'given', schema: undefined },
      fields: [...fields],
    }
    this.family = tested.openFamily(disk)
    const opened = runAtOnce(this.family.open(opening))
    if (opened.kind === 'outdated') throw new TypeError(opened.outdated.reason)
    this.engine = opened.engine
    this.#tested = tested
    this.#fields = fields
  }

  apply(sequence: number, changes: readonly DocumentChange[]): void {
    for (let left = changes; ;) {
      const batch = packBatch(sequence, left)
      const { taken, undecided }: TakenBatch = runAtOnce(this.engine.apply(batch, () => undefined))
      if (taken === left.length) return
      this.#fields.push(...undecided)
      runAtOnce(this.engine.learn(this.#fields))
      left = left.slice(taken)
    }
  }

  find(word: string): readonly string[] {
    return keysIn(this.#tested, runAtOnce(this.engine.answer(this.#tested.find(word)))).toSorted()
  }

  [Symbol.dispose](): void {
    this.engine.close()
  }
}

export function receivedBy(tested: EngineUnderTest, answer: unknown): unknown {
  return tested.received === undefined ? answer : tested.received(answer)
}

/** The keys that an answer names, of the engine or of a reader. */
export function keysIn(tested: EngineUnderTest, answer: unknown): readonly string[] {
  return tested.keysOf(receivedBy(tested, answer))
}

export function jsonChange(key: string, text: string): DocumentChange {
  const json = Buffer.from(JSON.stringify({ text }))
  return { key: Buffer.from(key), json, expiresAtMs: 0 }
}

export function remove(key: string): DocumentChange {
  return { key: Buffer.from(key), json: undefined, expiresAtMs: 0 }
}

/** The engines of a test, below a directory of its own. */
export class EngineBench {
  readonly #tested: EngineUnderTest
  #root = ''
  #fields: TableField[] = []

  constructor(tested: EngineUnderTest) {
    this.#tested = tested
  }

  get root(): string {
    return this.#root
  }

  begin(): void {
    this.#root = mkdtempSync(path.join(tmpdir(), 'quarry-engine-'))
    this.#fields = []
  }

  end(): void {
    rmSync(this.#root, { recursive: true, force: true })
  }

  open(name = 'index', disk: DiskWork = DISK_WORK_HERE): OpenedEngine {
    return new OpenedEngine(this.#tested, this.#fields, {
      directory: path.join(this.#root, name),
      disk,
    })
  }

  openInMemory(): OpenedEngine {
    return new OpenedEngine(this.#tested, this.#fields, { directory: undefined })
  }
}
