// What a start finds in the journal's directory: the segments in order, checked from end to end.

import type { JournalDirectory } from './journal-directory.ts'
import {
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  segmentFileName,
  segmentNumberOf,
  type SegmentHeader,
} from './journal-format.ts'
import { Segment } from './segment.ts'
import { damagedError, findLaterBatch, scanSegment, type ChainPosition } from './segment-scan.ts'

export interface RecoveredJournal {
  /** Those that hold batches, oldest first. */
  readonly segments: readonly Segment[]
  /** Names of allocated files that hold nothing. */
  readonly spares: readonly string[]
  /** Above every number that a file has. */
  readonly nextNumber: number
  readonly position: ChainPosition
}

interface FoundFile {
  readonly number: number
  readonly bytes: Buffer
  readonly header: SegmentHeader | undefined
}

const BEGINNING: ChainPosition = { nextBatch: 1, previousCrc: 0 }

/**
 * Reads all segments, and makes what it has read durable: a process that was killed may have left its
 * last batch in the system's memory alone, and a later one must not outlive it. Throws CORRUPTION, naming file and offset, when entries that were acknowledged
 * are damaged or missing; an interrupted last write is left out.
 */
export async function recoverJournal(directory: JournalDirectory): Promise<RecoveredJournal> {
  const numbers = (await directory.list())
    .map(segmentNumberOf)
    .filter((number) => number !== undefined)
    .toSorted((a, b) => a - b)
  await directory.sync()
  const chain = new ChainReader()
  const segments: Segment[] = []
  const spares: string[] = []
  for (const number of numbers) {
    const file = await readFile(directory, number)
    const segment = chain.take(file)
    if (segment === undefined) spares.push(segmentFileName(number))
    else segments.push(segment)
  }
  return { segments, spares, nextNumber: (numbers.at(-1) ?? 0) + 1, position: chain.position }
}

async function readFile(directory: JournalDirectory, number: number): Promise<FoundFile> {
  const file = await directory.open(segmentFileName(number))
  try {
    const bytes = await file.read(0, await file.size())
    const header = decodeSegmentHeader(bytes, number)
    if (header !== undefined) await file.sync()
    return { number, bytes, header }
  } finally {
    await file.close()
  }
}

/** Follows the chain from file to file; holds no more than one file's bytes at a time. */
class ChainReader {
  #position: ChainPosition | undefined
  /** Where the chain broke off: whatever comes later must not hold a later batch. */
  #brokenAt: { readonly name: string; readonly offset: number } | undefined

  get position(): ChainPosition {
    return this.#position ?? BEGINNING
  }

  take({ number, bytes, header }: FoundFile): Segment | undefined {
    const name = segmentFileName(number)
    if (header === undefined) {
      this.#refuseLater({ bytes, salt: saltOf(bytes) }, 0)
      return undefined
    }
    this.#position ??= { nextBatch: header.firstBatch, previousCrc: header.previousCrc }
    this.#assertFollows(header, name)
    const segment = new Segment(number, bytes.length)
    const from = this.#position
    const scanned = scanSegment({ bytes, salt: header.salt, from }, (batch) => segment.index(batch))
    this.#position = scanned.position
    this.#brokenAt = { name, offset: scanned.end }
    this.#refuseLater({ bytes, salt: header.salt }, scanned.end)
    return segment
  }

  #assertFollows({ firstBatch, previousCrc }: SegmentHeader, name: string): void {
    const { nextBatch, previousCrc: expected } = this.position
    if (firstBatch === nextBatch && previousCrc === expected) return
    const before = this.#brokenAt ?? { name, offset: 0 }
    throw damagedError(
      before.name,
      before.offset,
      `batch ${nextBatch} is missing, and ${name} begins with batch ${firstBatch}`,
    )
  }

  #refuseLater(found: { readonly bytes: Buffer; readonly salt: number }, from: number): void {
    const number = this.position.nextBatch
    const later = findLaterBatch(found, { from, number })
    if (later === undefined) return
    const at = this.#brokenAt ?? { name: 'a segment', offset: 0 }
    throw damagedError(
      at.name,
      at.offset,
      `batch ${number} is not readable, and later ones are there`,
    )
  }
}

/** Of a header that is damaged in both copies; a wrong one finds nothing. */
function saltOf(bytes: Buffer): number {
  return bytes.length < SEGMENT_HEADER_BYTES ? 0 : bytes.readUInt32BE(28)
}
