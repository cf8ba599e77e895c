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
import type { GraphJob } from '../graph/graph-job.ts'
import { graphShapeOf, Quantizer } from '../graph/quantizer.ts'
import type { GraphLibrary } from '../graph/vector-graph.ts'
import { readTable, RowTable, type TableBytes } from '../segment/row-table.ts'
import { FileVectors, KeptVectors, type VectorMemory } from '../segment/row-vectors.ts'
import { damaged, FileWriter, readVerified, verifyFile, type FileSum } from '../files/file-sums.ts'
import {
  writeRows,
  type SegmentInput,
  type SegmentPlan,
  type WrittenRows,
} from '../segment/segment-writer.ts'
import { rangeOf, VectorSegment, type SegmentGraph } from '../segment/vector-segment.ts'
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

/** Which documents become a segment. */
export interface SegmentOrder {
  readonly inputs: readonly SegmentInput[]
  readonly hasGraph: boolean
  /** The first input, all of whose documents are kept: its graph is extended. */
  readonly base: VectorSegment | undefined
}

/** Makes the graph of a job, in steps. */
export type MakeGraph = (job: GraphJob) => Sliced<FileSum>

/** What a store works with. */
export interface SegmentStoreOptions {
  /** Undefined: everything stays in memory, and there is no manifest. */
  readonly directory: string | undefined
  readonly settings: DenseIndexSettings
  /** Undefined for an index without graphs. */
  readonly library: GraphLibrary | undefined
  readonly memory: VectorMemory
}

interface Writing {
  readonly order: SegmentOrder
  readonly plan: SegmentPlan
  readonly make: MakeGraph
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
  write(id: number, order: SegmentOrder, make: MakeGraph): Sliced<WrittenSegment | undefined> {
    const { settings, library } = this.#with
    const plan = { settings, ...order, range: order.base?.range }
    if (!this.isDurable) return keepInMemory(id, { ...plan, range: undefined, library })
    return this.#writeFiles(id, { order, plan: { ...plan, library: undefined }, make })
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

  *#writeFiles(id: number, { order, plan, make }: Writing): Sliced<WrittenSegment | undefined> {
    const out = new FileWriter(this.#path(`${id}.vectors`))
    try {
      const written = yield* writeRows(plan, (vectors) => out.write(bytesOf(vectors)))
      if (written === undefined) return undefined
      out.finish()
      const { table, numbers } = written
      const rows = yield* this.#writeTable(id, table)
      const graph = order.hasGraph ? yield* make(this.#jobOf(id, written, order.base)) : undefined
      const segment = this.#openFiles(id, new RowTable(table), graph)
      return { segment, listed: { id, rows, ...(graph === undefined ? {} : { graph }) }, numbers }
    } finally {
      out.close()
    }
  }

  #jobOf(id: number, { table, range }: WrittenRows, base: VectorSegment | undefined): GraphJob {
    return {
      settings: this.#with.settings,
      // A copy: the center is a part of the table.
      range: { center: range.center.slice(), scale: range.scale },
      vectorsPath: this.#path(`${id}.vectors`),
      rowCount: table.sizes.rowCount,
      base: base && { path: this.#path(`${base.id}.graph`), rowCount: base.rowCount },
      path: this.#path(`${id}.graph`),
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

  #openFiles(id: number, table: RowTable, graph: FileSum | undefined): VectorSegment {
    const name = `${id}.vectors`
    const shape = { ...table.sizes, sums: table.sections.sums }
    const { memory } = this.#with
    const vectors = new FileVectors({ path: this.#path(name), name, memory }, shape)
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
    return { graph, quantizer: new Quantizer(settings, rangeOf(table)), bytesOnDisk: bytes }
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
