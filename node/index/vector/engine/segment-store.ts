// The segments of an index of vectors as files, or in memory for an index without files; what their rows are, the
// store of each format says. The format of the files is described in docs/reference/formats/vector-segment.md.

import { mkdirSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { removeFile, writeDurably } from '../../files/durable-file.ts'
import { damaged, FileWriter, readVerified, type FileSum } from '../files/file-sums.ts'
import type { BuiltGraph, GraphJob } from '../building/graph-job.ts'
import type { DocumentBits } from '../segment/deleted-documents.ts'
import type { DocumentRows } from '../segment/document-rows.ts'
import { readTable, RowTable, type TableBytes } from '../segment/row-table.ts'
import type { SegmentInput } from '../segment/kept-documents.ts'
import type { SegmentKind } from './merge-policy.ts'
import {
  filesOfSegment,
  linkCheckpoint,
  readManifest,
  removeUnlisted,
  writeManifest,
  type DeletedFile,
  type Manifest,
  type ManifestSegment,
} from './manifest.ts'

/** A new segment, and what the manifest says about it. */
export interface WrittenSegment<Segment> {
  readonly segment: Segment
  readonly listed: ManifestSegment
  /** By input, the new number of each document; -1 for those left out. */
  readonly numbers: readonly Int32Array[]
}

/** Which documents become a segment. */
export interface SegmentOrder<Rows extends DocumentRows, Segment> {
  readonly inputs: readonly SegmentInput<Rows>[]
  readonly makes: SegmentKind
  /** The first input, all of whose documents are kept: its graph and its lists are extended, as far as it has them. */
  readonly base: Segment | undefined
}

/** Makes what a job says, in steps. */
export type MakeGraph = (job: GraphJob) => Paced<BuiltGraph>

/** Where the files of an index are, who syncs them, and of which settings they have to be. */
export interface StoreOptions {
  readonly disk: DiskWork
  /** Undefined: everything stays in memory, and there is no manifest. */
  readonly directory: string | undefined
  /** Plain JSON. */
  readonly settings: object
}

/** Writes, opens and removes segments. A full disk is DISK_FULL; what is not as it was written is CORRUPTION. */
export abstract class SegmentStore<Rows extends DocumentRows, Segment extends Rows> {
  readonly #directory: string | undefined
  readonly #settings: object
  readonly #disk: DiskWork

  constructor({ directory, settings, disk }: StoreOptions) {
    this.#disk = disk
    this.#directory = directory
    this.#settings = settings
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 })
  }

  /** Whether merges make graphs. */
  abstract readonly hasGraphs: boolean

  /** Undefined if no document is kept. What it leaves half done, `remove` removes. */
  abstract write(
    id: number,
    order: SegmentOrder<Rows, Segment>,
    make: MakeGraph,
  ): Paced<WrittenSegment<Segment> | undefined>

  abstract open(listed: ManifestSegment): Sliced<Segment>

  get isDurable(): boolean {
    return this.#directory !== undefined
  }

  remove(id: number): void {
    for (const name of filesOfSegment(id)) this.#remove(name)
  }

  /** Durable when it ends; undefined without a directory. */
  *writeDeleted(
    id: number,
    generation: number,
    deleted: DocumentBits,
  ): Paced<DeletedFile | undefined> {
    if (!this.isDurable) return undefined
    const bytes = new Uint8Array(deleted.buffer, deleted.byteOffset, deleted.byteLength)
    yield* writeDurably(this.path(deletedName(id, generation)), bytes, this.#disk)
    return { generation, bytes: bytes.length, sum: crc32(bytes) }
  }

  *readDeleted({ id, deleted }: ManifestSegment): Sliced<DocumentBits> {
    if (deleted === undefined) return new Uint32Array(0)
    const name = deletedName(id, deleted.generation)
    const bytes = yield* readVerified(this.path(name), name, deleted)
    return new Uint32Array(bytes.buffer, 0, bytes.length >>> 2)
  }

  removeDeleted(id: number, { generation }: DeletedFile): void {
    this.#remove(deletedName(id, generation))
  }

  *writeManifest(state: Omit<Manifest, 'version' | 'settings'>): Paced<void> {
    if (this.#directory === undefined) return
    yield* writeManifest(this.#directory, { settings: this.#settings, ...state }, this.#disk)
  }

  /** Undefined for a directory without an index, and without a directory. */
  readManifest(): Manifest | undefined {
    const directory = this.#directory
    return directory === undefined ? undefined : readManifest(directory, this.#settings)
  }

  removeUnlisted(segments: readonly ManifestSegment[]): void {
    if (this.#directory !== undefined) removeUnlisted(this.#directory, segments, this.#disk)
  }

  /** Links the files of a checkpoint into a directory on the same disk, and answers which one it is. */
  link(to: string): number {
    const manifest = this.readManifest()
    if (manifest === undefined) throw damaged('manifest is missing')
    linkCheckpoint(this.path(''), to, manifest)
    return manifest.checkpoint
  }

  protected path(name: string): string {
    return path.join(must(this.#directory, 'a directory'), name)
  }

  protected *readTable({ id, rows }: ManifestSegment, dimension: number): Sliced<RowTable> {
    const name = `${id}.rows`
    const bytes = yield* readVerified(this.path(name), name, rows)
    const table = new RowTable(readTable(bytes, name))
    if (table.sizes.dimension === dimension) return table
    throw damaged(`${name} has vectors of another dimension`)
  }

  protected newWriter(name: string): FileWriter {
    return new FileWriter(this.path(name), this.#disk)
  }

  protected *writeTable(id: number, { bytes }: TableBytes): Paced<FileSum> {
    const out = this.newWriter(`${id}.rows`)
    try {
      yield* out.write(bytes)
      return yield* out.finish()
    } finally {
      out.close()
    }
  }

  #remove(name: string): void {
    if (this.isDurable) removeFile(this.path(name), this.#disk)
  }
}

function deletedName(id: number, generation: number): string {
  return `${id}-${generation}.deleted`
}
