// The files of an index. Format: docs/reference/formats/text-segment.md, "The directory".

import { linkSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { closedUnlessDone } from '../../../../lib/closing.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../../lib/sliced.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { removeFile, replaceDurably, writeDurably } from '../../files/durable-file.ts'
import { ByteBuffer, checksum, readUint32 } from '../encoding/byte-buffer.ts'
import { DiskSegment } from '../segment/disk-segment.ts'
import type { PageCache } from '../encoding/page-cache.ts'
import { SegmentInput, SegmentOutput } from '../encoding/segment-file.ts'
import type { Bitset } from '../encoding/bitset.ts'

const MANIFEST = 'manifest'
const FORMAT_VERSION = 1
const SEGMENT_FILE = /^\d+\.segment$/
const OUR_FILE = /^(?:\d+\.segment|\d+-\d+\.deleted|manifest\.new)$/

/**
 * The segments of one checkpoint. The store replaces the file as a whole, so that a reader finds
 * either the last checkpoint or the one before.
 */
export interface Manifest {
  readonly version: number
  /** Everything up to and with this sequence is in the segments. */
  readonly checkpoint: number
  readonly nextId: number
  readonly segments: readonly ManifestSegment[]
}

/** One segment of a checkpoint, by the number in its file name. */
export interface ManifestSegment {
  readonly id: number
  readonly bytes: number
  /** Which file names the deleted documents; 0 if none are deleted. */
  readonly deletedGeneration: number
}

/** What a store works with. Without a directory everything stays in memory and there is no manifest. */
export interface StoreOptions {
  readonly directory: string | undefined
  readonly cache: PageCache
  readonly disk: DiskWork
}

/** Writes, opens and removes the files of one index. */
export class SegmentStore {
  readonly #directory: string | undefined
  readonly #cache: PageCache
  readonly #disk: DiskWork

  constructor({ directory, cache, disk }: StoreOptions) {
    this.#directory = directory
    this.#cache = cache
    this.#disk = disk
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 })
  }

  get isDurable(): boolean {
    return this.#directory !== undefined
  }

  newOutput(id: number): SegmentOutput {
    return new SegmentOutput(this.#path(segmentName(id)), this.#disk)
  }

  /** `bytes` are those of an index in memory. */
  *openSegment(id: number, bytes: Uint8Array | undefined): Sliced<DiskSegment> {
    const name = segmentName(id)
    const file = this.#path(name)
    const source =
      file === undefined ? { name, bytes: bytes ?? new Uint8Array(0) } : { name, path: file }
    const opened = new SegmentInput(source, this.#cache, this.#disk)
    return yield* closedUnlessDone(DiskSegment.open(opened), () => opened.close())
  }

  removeSegment(
    segment: DiskSegment,
    { id, deletedGeneration }: Omit<ManifestSegment, 'bytes'>,
  ): void {
    segment.file.close()
    this.#remove(segmentName(id))
    this.removeDeleted(id, deletedGeneration)
  }

  /** Removes what a writer that was given up has left. */
  removeOutput(id: number): void {
    this.#remove(segmentName(id))
  }

  /** Durable when it ends, as far as the file goes; the directory is synced by the manifest. */
  *writeDeleted(id: number, generation: number, deleted: Bitset): Paced<void> {
    const file = this.#path(deletedName(id, generation))
    if (file === undefined) return
    const out = new ByteBuffer()
    for (const word of deleted) out.writeUint32(word)
    out.writeUint32(checksum(out.view()))
    yield* writeDurably(file, out.view(), this.#disk)
  }

  readDeleted({ id, deletedGeneration }: ManifestSegment, docCount: number): Bitset {
    const words = (docCount + 31) >>> 5
    const name = deletedName(id, deletedGeneration)
    const bytes = this.#read(name) ?? fail(`${name} is missing`)
    const sum = checksum(bytes.subarray(0, words * 4))
    if (bytes.length !== words * 4 + 4 || readUint32(bytes, words * 4) !== sum) {
      fail(`${name} is damaged`)
    }
    return Uint32Array.from({ length: words }, (_, word) => readUint32(bytes, word * 4))
  }

  removeDeleted(id: number, generation: number): void {
    if (generation > 0) this.#remove(deletedName(id, generation))
  }

  /** Makes a state the one that `open` finds, all or nothing; it is that for good when it ends. */
  *writeManifest(manifest: Manifest): Paced<void> {
    if (this.#directory === undefined) return
    const body = JSON.stringify(manifest)
    const sum = checksum(Buffer.from(body, 'utf8')).toString(16).padStart(8, '0')
    const bytes = Buffer.from(`${body}\n${sum}\n`, 'utf8')
    yield* replaceDurably(path.join(this.#directory, MANIFEST), bytes, this.#disk)
  }

  /** Undefined for a directory without any index. */
  readManifest(): Manifest | undefined {
    const text = this.#read(MANIFEST)?.toString('utf8')
    if (text === undefined) {
      const orphan = this.#names().find((name) => SEGMENT_FILE.test(name))
      return orphan === undefined ? undefined : fail(`${MANIFEST} is missing beside ${orphan}`)
    }
    const match = /^(?<body>.*)\n(?<sum>[0-9a-f]{8})\n$/.exec(text)
    const body = match?.groups?.['body'] ?? ''
    const sum = checksum(Buffer.from(body, 'utf8')).toString(16).padStart(8, '0')
    if (match?.groups?.['sum'] !== sum) fail(`${MANIFEST} is damaged`)
    // The checksum says that it is what we wrote.
    const manifest: Manifest = JSON.parse(body)
    if (manifest.version !== FORMAT_VERSION) fail(`${MANIFEST} has version ${manifest.version}`)
    return manifest
  }

  /** Removes the files that a crash has left: those of this format that the manifest does not name. */
  removeUnlisted({ segments }: Manifest): void {
    const named = new Set(segments.flatMap(filesOf))
    for (const name of this.#names()) {
      if (OUR_FILE.test(name) && !named.has(name)) this.#remove(name)
    }
  }

  /**
   * Links the files that the manifest names, and the manifest, into a directory on the same disk: they
   * outlive what happens here.
   */
  link(directory: string): Manifest {
    const manifest = this.readManifest()
    if (this.#directory === undefined || manifest === undefined) fail(`${MANIFEST} is missing`)
    for (const name of [...manifest.segments.flatMap(filesOf), MANIFEST]) {
      linkSync(path.join(this.#directory, name), path.join(directory, name))
    }
    return manifest
  }

  #names(): readonly string[] {
    return this.#directory === undefined ? [] : readdirSync(this.#directory)
  }

  #path(name: string): string | undefined {
    return this.#directory === undefined ? undefined : path.join(this.#directory, name)
  }

  #read(name: string): Buffer | undefined {
    const file = this.#path(name)
    if (file === undefined) return undefined
    try {
      return readFileSync(file)
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  #remove(name: string): void {
    const file = this.#path(name)
    if (file !== undefined) removeFile(file, this.#disk)
  }
}

function fail(what: string): never {
  throw new ServiceError('CORRUPTION', `the text index file ${what}; rebuild the index`)
}

function filesOf({ id, deletedGeneration }: ManifestSegment): readonly string[] {
  return deletedGeneration > 0
    ? [segmentName(id), deletedName(id, deletedGeneration)]
    : [segmentName(id)]
}

function segmentName(id: number): string {
  return `${id}.segment`
}

function deletedName(id: number, generation: number): string {
  return `${id}-${generation}.deleted`
}
