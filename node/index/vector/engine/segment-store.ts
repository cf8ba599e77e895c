// The segments of a vector index as files, or in memory for an index without files. The format of the files is described
// in docs/formats/vector-segment.md.
//
// Invariants:
//   VF2  Nothing reads a graph's file whose sum was not verified since the opening, or that we did not write:
//        a damaged one would end the process.

import { mkdirSync, rmSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { must } from '../../../../lib/assert.ts'
import type { Sliced } from '../../../../lib/sliced.ts'
import type { DenseIndexSettings } from '../../../embedding/settings.ts'
import { graphShapeOf } from '../graph/quantizer.ts'
import type { GraphLibrary } from '../graph/vector-graph.ts'
import { readTable, RowTable, type TableBytes } from '../segment/row-table.ts'
import { FileVectors, KeptVectors, type BlockBuffer } from '../segment/row-vectors.ts'
import {
  damaged,
  FileWriter,
  readVerified,
  sumWritten,
  verifyFile,
  type FileSum,
} from '../segment/segment-disk.ts'
import { writeRows, type SegmentPlan, type WrittenRows } from '../segment/segment-writer.ts'
import { quantizerOf, VectorSegment, type SegmentGraph } from '../segment/vector-segment.ts'
import type { DocumentBits } from '../segment/deleted-documents.ts'
import {
  linkCheckpoint,
  readManifest,
  removeUnlisted,
  writeDurably,
  writeManifest,
  type DeletedFile,
  type Manifest,
  type ManifestSegment,
} from './manifest.ts'

/** A new segment, and what the manifest says about it. */
export interface WrittenSegment {
  readonly segment: VectorSegment
  readonly listed: ManifestSegment
  readonly numbers: WrittenRows['numbers']
}

/** What a store works with. */
export interface SegmentStoreOptions {
  /** Undefined: everything stays in memory, and there is no manifest. */
  readonly directory: string | undefined
  readonly settings: DenseIndexSettings
  /** Undefined for an index without graphs. */
  readonly library: GraphLibrary | undefined
  readonly buffer: BlockBuffer
}

/** Writes, opens and removes segments. A full disk is DISK_FULL; what is not as it was written is CORRUPTION. */
export class SegmentStore {
  readonly #with: SegmentStoreOptions

  constructor(options: SegmentStoreOptions) {
    this.#with = options
    const { directory } = options
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 })
  }

  get isDurable(): boolean {
    return this.#with.directory !== undefined
  }

  /** Undefined if no document is kept. What it leaves half done, `remove` removes. */
  write(id: number, plan: SegmentPlan): Sliced<WrittenSegment | undefined> {
    return this.isDurable ? this.#writeFiles(id, plan) : keepInMemory(id, plan)
  }

  *open({ id, rows, graph }: ManifestSegment): Sliced<VectorSegment> {
    const name = `${id}.rows`
    const bytes = yield* readVerified(this.#path(name), name, rows)
    const table = new RowTable(readTable(bytes, name))
    if (table.sizes.dimension !== this.#with.settings.dimension) {
      throw damaged(`${name} has vectors of another dimension`)
    }
    if (graph !== undefined) yield* verifyFile(this.#path(`${id}.graph`), `${id}.graph`, graph)
    return this.#openFiles(id, table, graph)
  }

  remove(id: number): void {
    for (const name of [`${id}.vectors`, `${id}.rows`, `${id}.graph`]) this.#remove(name)
  }

  /** Durable when it returns; undefined without a directory. */
  writeDeleted(id: number, generation: number, deleted: DocumentBits): DeletedFile | undefined {
    if (!this.isDurable) return undefined
    const bytes = new Uint8Array(deleted.buffer, deleted.byteOffset, deleted.byteLength)
    writeDurably(this.#path(deletedName(id, generation)), bytes)
    return { generation, bytes: bytes.length, sum: crc32(bytes) }
  }

  *readDeleted({ id, deleted }: ManifestSegment): Sliced<DocumentBits> {
    if (deleted === undefined) return new Uint32Array(0)
    const name = deletedName(id, deleted.generation)
    const bytes = yield* readVerified(this.#path(name), name, deleted)
    return new Uint32Array(bytes.buffer, 0, bytes.length >>> 2)
  }

  removeDeleted(id: number, { generation }: DeletedFile): void {
    this.#remove(deletedName(id, generation))
  }

  writeManifest(state: Omit<Manifest, 'version' | 'settings'>): void {
    const { directory, settings } = this.#with
    if (directory !== undefined) writeManifest(directory, { settings, ...state })
  }

  /** Undefined for a directory without an index, and without a directory. */
  readManifest(): Manifest | undefined {
    const { directory, settings } = this.#with
    return directory === undefined ? undefined : readManifest(directory, settings)
  }

  removeUnlisted(segments: readonly ManifestSegment[]): void {
    const { directory } = this.#with
    if (directory !== undefined) removeUnlisted(directory, segments)
  }

  /** Links the files of the checkpoint into a directory on the same disk. */
  link(to: string): void {
    const manifest = this.readManifest()
    if (manifest === undefined) throw damaged('manifest is missing')
    linkCheckpoint(this.#path(''), to, manifest)
  }

  *#writeFiles(id: number, plan: SegmentPlan): Sliced<WrittenSegment | undefined> {
    const out = new FileWriter(this.#path(`${id}.vectors`))
    try {
      const written = yield* writeRows(plan, (vectors) => out.write(bytesOf(vectors)))
      if (written === undefined) return undefined
      out.finish()
      const { table, numbers } = written
      const graph = yield* this.#saveGraph(id, written)
      const rows = yield* this.#writeTable(id, table)
      const segment = this.#openFiles(id, new RowTable(table), graph)
      return { segment, listed: { id, rows, ...(graph === undefined ? {} : { graph }) }, numbers }
    } finally {
      out.close()
    }
  }

  *#writeTable(id: number, { bytes }: TableBytes): Sliced<FileSum> {
    const out = new FileWriter(this.#path(`${id}.rows`))
    try {
      yield* out.write(bytes)
      return out.finish()
    } finally {
      out.close()
    }
  }

  /** It is read back, so that its sum is of what the disk has. */
  *#saveGraph(id: number, { graph }: WrittenRows): Sliced<FileSum | undefined> {
    if (graph === undefined) return undefined
    const file = this.#path(`${id}.graph`)
    graph.growing.save(file)
    yield
    return yield* sumWritten(file)
  }

  #openFiles(id: number, table: RowTable, graph: FileSum | undefined): VectorSegment {
    const name = `${id}.vectors`
    const shape = { ...table.sizes, sums: table.sections.sums }
    const { buffer } = this.#with
    const vectors = new FileVectors({ path: this.#path(name), name, buffer }, shape)
    try {
      const viewed = graph === undefined ? undefined : this.#viewGraph(id, table, graph)
      return new VectorSegment({ id, table, vectors, graph: viewed })
    } catch (error) {
      vectors.close()
      throw error
    }
  }

  #viewGraph(id: number, table: RowTable, { bytes }: FileSum): SegmentGraph {
    const { settings, library } = this.#with
    const file = this.#path(`${id}.graph`)
    const graph = must(library, 'a library').view(graphShapeOf(settings), file)
    return { graph, quantizer: quantizerOf(settings, table), bytesOnDisk: bytes }
  }

  #path(name: string): string {
    return path.join(must(this.#with.directory, 'a directory'), name)
  }

  #remove(name: string): void {
    if (this.isDurable) rmSync(this.#path(name), { force: true })
  }
}

function* keepInMemory(id: number, plan: SegmentPlan): Sliced<WrittenSegment | undefined> {
  const kept = new KeptVectors()
  const written = yield* writeRows(plan, (vectors) => kept.add(vectors))
  if (written === undefined) return undefined
  const { table, numbers } = written
  const vectors = yield* kept.join(table.sizes)
  const graph =
    written.graph === undefined
      ? undefined
      : {
          graph: written.graph.growing.finish(),
          quantizer: written.graph.quantizer,
          bytesOnDisk: 0,
        }
  const segment = new VectorSegment({ id, table: new RowTable(table), vectors, graph })
  return { segment, listed: { id, rows: { bytes: 0, sum: 0 } }, numbers }
}

function deletedName(id: number, generation: number): string {
  return `${id}-${generation}.deleted`
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}
