// The files of one index, or none: of an index in memory nothing is written, and there is no manifest.
//
// Invariants:
//   SX1  The manifest is replaced as a whole, after everything that it names is durable.
//   SX2  A crash leaves files that no manifest names. The next opening removes these, and no others.

import { linkSync, mkdirSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { must } from '../../../lib/assert.ts'
import type { Paced } from '../../../lib/sliced.ts'
import type { Bitset } from '../encoding/bitset.ts'
import type { DiskWork } from '../files/disk-work.ts'
import { removeFile, replaceDurably, writeDurably } from '../files/durable-file.ts'
import { parseManifest, printManifest } from './manifest-text.ts'
import {
  corruptionOf,
  type ListedSegment,
  type Manifest,
  type SegmentFormat,
} from './segment-format.ts'

const MANIFEST = 'manifest'

/** Where the files of an index are, and who syncs them. */
export interface SegmentPlace {
  /** Undefined: everything stays in memory. Only one index at a time may use a directory. */
  readonly directory: string | undefined
  readonly disk: DiskWork
}

/** Writes, reads and removes manifests and deletions, and removes segments. Their kind writes and reads these. */
export class SegmentFiles<Listed extends ListedSegment> {
  readonly disk: DiskWork
  readonly #directory: string | undefined
  readonly #format: SegmentFormat<Listed>
  readonly #ours: RegExp

  constructor({ directory, disk }: SegmentPlace, format: SegmentFormat<Listed>) {
    this.disk = disk
    this.#directory = directory
    this.#format = format
    const endings = format.endings.join('|')
    this.#ours = new RegExp(`^(?:\\d+\\.(?:${endings})|\\d+-\\d+\\.deleted|manifest\\.new)$`)
    if (directory !== undefined) mkdirSync(directory, { recursive: true, mode: 0o700 })
  }

  get isDurable(): boolean {
    return this.#directory !== undefined
  }

  path(name: string): string {
    return path.join(must(this.#directory, 'a directory'), name)
  }

  /** Undefined for a directory without an index, and without a directory. CORRUPTION if it is not what was written. */
  readManifest(): Manifest<Listed> | undefined {
    if (this.#directory === undefined) return undefined
    const text = this.#read(MANIFEST)?.toString('utf8')
    if (text !== undefined) return parseManifest(this.#format, text)
    const [vital] = this.#format.endings
    const orphan = readdirSync(this.#directory).find((name) => name.endsWith(`.${vital}`))
    if (orphan !== undefined) this.#fail(`${MANIFEST} is missing beside ${orphan}`)
    return undefined
  }

  /** Makes a state the one that the next opening finds, all or nothing; it is that for good when it ends (SX1). */
  *writeManifest(manifest: Manifest<Listed>): Paced<void> {
    if (!this.isDurable) return
    const bytes = Buffer.from(printManifest(this.#format, manifest))
    yield* replaceDurably(this.path(MANIFEST), bytes, this.disk)
  }

  /** SX2: removes what a crash has left. */
  removeUnlisted({ segments }: Manifest<Listed>): void {
    if (this.#directory === undefined) return
    const listed = new Set(segments.flatMap((segment) => this.#namesOf(segment)))
    for (const name of readdirSync(this.#directory)) {
      if (this.#ours.test(name) && !listed.has(name)) this.#remove(name)
    }
  }

  /** Links the manifest and the files that it names into a directory on the same disk, and answers its checkpoint. */
  link(directory: string): number {
    const manifest = this.readManifest() ?? this.#fail(`${MANIFEST} is missing`)
    const names = manifest.segments.flatMap((segment) => this.#namesOf(segment))
    for (const name of [...names, MANIFEST]) linkSync(this.path(name), path.join(directory, name))
    return manifest.checkpoint
  }

  /** All files that a segment may have, those of deletions apart. */
  removeSegment(id: number): void {
    for (const ending of this.#format.endings) this.#remove(`${id}.${ending}`)
  }

  /** Writes the next file of a segment's deletions, and answers what the manifest says of it. */
  *writeDeleted(listed: Listed, deleted: Bitset): Paced<Listed> {
    if (!this.isDurable) return listed
    const generation = this.#format.generationOf(listed) + 1
    const bytes = this.#format.printDeleted(deleted)
    yield* writeDurably(this.path(deletedName(listed.id, generation)), bytes, this.disk)
    return this.#format.withDeleted(listed, generation, bytes)
  }

  /** Undefined if nothing was deleted at the checkpoint. CORRUPTION if the file is not what was written. */
  readDeleted(listed: Listed, docCount: number): Bitset | undefined {
    const generation = this.#format.generationOf(listed)
    if (generation === 0) return undefined
    const name = deletedName(listed.id, generation)
    const bytes = this.#read(name) ?? this.#fail(`${name} is missing`)
    return this.#format.parseDeleted(bytes, listed, docCount) ?? this.#fail(`${name} is damaged`)
  }

  removeDeleted(listed: Listed): void {
    const generation = this.#format.generationOf(listed)
    if (generation > 0) this.#remove(deletedName(listed.id, generation))
  }

  #namesOf(listed: Listed): readonly string[] {
    const names = this.#format.endingsOf(listed).map((ending) => `${listed.id}.${ending}`)
    const generation = this.#format.generationOf(listed)
    return generation > 0 ? [...names, deletedName(listed.id, generation)] : names
  }

  #read(name: string): Buffer | undefined {
    try {
      return readFileSync(this.path(name))
    } catch (error) {
      if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
      throw error
    }
  }

  #remove(name: string): void {
    if (this.isDurable) removeFile(this.path(name), this.disk)
  }

  #fail(what: string): never {
    throw corruptionOf(this.#format.noun, what)
  }
}

function deletedName(id: number, generation: number): string {
  return `${id}-${generation}.deleted`
}
