// The half of an engine behind the seam of index workers that is the same for every kind whose documents are in a segmented
// index.

import { linkSync, readdirSync, statSync } from 'node:fs'
import path from 'node:path'
import { ServiceError } from '../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import type { TableField } from '../../schema/table-field.ts'
import type { TableSchema } from '../../schema/table-schema.ts'
import type { DocumentBatch } from '../host/document-batch.ts'
import type {
  AskedQuestion,
  IndexEngine,
  IndexReport,
  IndexSnapshot,
  OnDocument,
  TakenBatch,
} from '../host/index-engine.ts'
import type { HeldSegment } from './held-segment.ts'
import type { LivePart } from './live-part.ts'
import type { ListedSegment } from './segment-format.ts'
import type { SegmentedIndex } from './segmented-index.ts'

/** What an engine needs of its index, whatever its parts are. */
export type DrivenIndex = Pick<
  SegmentedIndex<LivePart, LivePart<HeldSegment>, ListedSegment, unknown>,
  | 'checkpoint'
  | 'unflushedBytes'
  | 'isAdding'
  | 'isFlushing'
  | 'isFull'
  | 'flushWaitsFor'
  | 'setSequence'
  | 'beginFlush'
  | 'maintain'
  | 'linkFiles'
  | 'assertOpen'
  | 'close'
>

/** Where an engine's index is, and what else lies there. */
export interface EngineDirectory {
  /** Undefined: in memory only. */
  readonly directory: string | undefined
  /** Files of the engine that belong to each checkpoint. */
  readonly ownFiles?: readonly string[]
}

/** One index in its worker. */
export abstract class SegmentedEngine<Index extends DrivenIndex> implements IndexEngine {
  readonly index: Index
  readonly #place: EngineDirectory

  constructor(index: Index, place: EngineDirectory) {
    this.index = index
    this.#place = place
  }

  abstract learn(fields: readonly TableField[]): Sliced<void>
  abstract setSchema(schema: TableSchema | undefined): Paced<void>
  abstract apply(batch: DocumentBatch, onDocument: OnDocument): Paced<TakenBatch>
  abstract answer(asked: AskedQuestion): Sliced<unknown>
  abstract report(): IndexReport

  get checkpoint(): number {
    return this.index.checkpoint
  }

  get unflushedBytes(): number {
    return this.index.unflushedBytes
  }

  get isAdding(): boolean {
    return this.index.isAdding
  }

  *flush(sequence: number): Paced<void> {
    yield* this.#endFlush() // it began before
    this.index.setSequence(sequence)
    this.index.beginFlush()
    yield* this.#endFlush()
    this.index.assertOpen()
  }

  /** The flush begins later if a document is just being added: that is another task's work. */
  makeRoom(): Promise<void> | undefined {
    this.index.beginFlush()
    if (this.index.isFlushing) this.index.maintain()
    return this.index.flushWaitsFor
  }

  maintain(): boolean {
    return this.index.maintain()
  }

  snapshot(to: string): IndexSnapshot {
    const { directory, ownFiles = [] } = this.#place
    if (directory === undefined) {
      throw new ServiceError('INVALID_ARGUMENT', 'an index in memory has no files')
    }
    const checkpoint = this.index.linkFiles(to)
    for (const name of ownFiles) linkSync(path.join(directory, name), path.join(to, name))
    const files = readdirSync(to).map((name) => {
      return { name, bytes: statSync(path.join(to, name)).size }
    })
    return { checkpoint, files }
  }

  close(): void {
    this.index.close()
  }

  /** A writer does the work of a flush while memory is full. */
  protected *waitForRoom(): Paced<void> {
    for (; this.index.isFull; yield this.index.flushWaitsFor) this.index.maintain()
  }

  *#endFlush(): Paced<void> {
    for (; this.index.isFlushing; yield this.index.flushWaitsFor) this.index.maintain()
  }
}
