// The manifest of a vector index: which segments make up its checkpoint. Format: docs/reference/formats/vector-segment.md.
//
// Invariants:
//   VF1  The manifest is replaced as a whole, after everything that it names is durable. It has the length and
//        the sum of each file; the vectors' sums are in the table of their segment.

import { linkSync, readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { crc32 } from 'node:zlib'
import type { Paced } from '../../../../lib/sliced.ts'
import type { DiskWork } from '../../files/disk-work.ts'
import { removeFile, replaceDurably } from '../../files/durable-file.ts'
import { damaged, type FileSum } from '../files/file-sums.ts'
import type { Trial } from '../lists/search-trial.ts'

const MANIFEST = 'manifest'
const FORMAT_VERSION = 1
const OUR_FILE = /^(?:\d+\.(?:vectors|postings|rows|graph|lists)|\d+-\d+\.deleted|manifest\.new)$/

/** The segments of one checkpoint. */
export interface Manifest {
  readonly version: number
  /** Vectors of other settings are another index. */
  readonly settings: object
  /** Everything up to and with this sequence is in the segments. */
  readonly checkpoint: number
  readonly nextId: number
  readonly segments: readonly ManifestSegment[]
}

/** One segment of a checkpoint, by the number in the names of its files. */
export interface ManifestSegment {
  readonly id: number
  readonly rows: FileSum
  /** Present in place of vectors if they are sparse. */
  readonly postings?: PostingsSum
  /** Absent if the segment has no graph. */
  readonly graph?: TriedFile
  /** Absent in a segment of few rows. */
  readonly lists?: TriedFile
  /** Absent if no document was deleted from it. */
  readonly deleted?: DeletedFile
}

/** A file by which rows are found, and how well. */
export interface TriedFile extends FileSum {
  readonly trial: Trial
}

/** A file of postings: its whole length, where its directory begins, and the sum from there to its end. */
export interface PostingsSum extends FileSum {
  readonly directoryAt: number
}

/** The file that names the documents deleted from a segment. */
export interface DeletedFile extends FileSum {
  readonly generation: number
}

/** `expected`: the settings that the index has now. Undefined for a directory without an index. */
export function readManifest(directory: string, expected: object): Manifest | undefined {
  const text = readIfThere(path.join(directory, MANIFEST))
  if (text === undefined) {
    const orphan = readdirSync(directory).find((name) => name.endsWith('.rows'))
    if (orphan === undefined) return undefined
    throw damaged(`${MANIFEST} is missing beside ${orphan}`)
  }
  const match = /^(?<body>.*)\n(?<sum>[0-9a-f]{8})\n$/.exec(text)
  const body = match?.groups?.['body'] ?? ''
  if (match?.groups?.['sum'] !== sumText(body)) throw damaged(`${MANIFEST} is damaged`)
  // The sum says that it is what we wrote.
  const manifest: Manifest = JSON.parse(body)
  const { version, settings } = manifest
  if (version !== FORMAT_VERSION) throw damaged(`${MANIFEST} has version ${version}`)
  if (!isDeepStrictEqual(settings, expected)) {
    throw damaged(`${MANIFEST} is of an index with other settings`)
  }
  return manifest
}

/** Makes a state the one that the next opening finds, all or nothing; it is that for good when it ends. */
export function* writeManifest(
  directory: string,
  manifest: Omit<Manifest, 'version'>,
  disk: DiskWork,
): Paced<void> {
  const body = JSON.stringify({ version: FORMAT_VERSION, ...manifest })
  const bytes = Buffer.from(`${body}\n${sumText(body)}\n`)
  yield* replaceDurably(path.join(directory, MANIFEST), bytes, disk)
}

/** Removes what a crash has left: files of this format that the manifest does not name. */
export function removeUnlisted(
  directory: string,
  segments: readonly ManifestSegment[],
  disk: DiskWork,
): void {
  const named = new Set(segments.flatMap(filesOf))
  for (const name of readdirSync(directory)) {
    if (OUR_FILE.test(name) && !named.has(name)) removeFile(path.join(directory, name), disk)
  }
}

/** Links the manifest and the files that it names into a directory on the same disk. */
export function linkCheckpoint(from: string, to: string, { segments }: Manifest): void {
  for (const name of [...segments.flatMap(filesOf), MANIFEST]) {
    linkSync(path.join(from, name), path.join(to, name))
  }
}

/** All that the files of a segment may be called, those of deletions apart. */
export function filesOfSegment(id: number): readonly string[] {
  return ['vectors', 'postings', 'rows', 'graph', 'lists'].map((ending) => `${id}.${ending}`)
}

function filesOf({ id, postings, graph, lists, deleted }: ManifestSegment): readonly string[] {
  const names = [`${id}.rows`, postings === undefined ? `${id}.vectors` : `${id}.postings`]
  if (graph !== undefined) names.push(`${id}.graph`)
  if (lists !== undefined) names.push(`${id}.lists`)
  if (deleted !== undefined) names.push(`${id}-${deleted.generation}.deleted`)
  return names
}

function sumText(body: string): string {
  return crc32(body).toString(16).padStart(8, '0')
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}
