// Reads the journal's directory at a start: finds the segments in order and checks them from end to
// end.

import { JournalContent, type ContentRow } from './journal-content.ts'
import type { JournalDirectory } from './journal-directory.ts'
import {
  decodeSegmentHeader,
  SEGMENT_HEADER_BYTES,
  segmentFileName,
  segmentNumberOf,
  type SegmentHeader,
} from './journal-format.ts'
import { Segment } from './journal-segment.ts'
import {
  damagedError,
  findLaterBatch,
  rowsOf,
  scanSegment,
  type ChainPosition,
  type ScannedBatch,
} from './segment-scan.ts'

/** The state of the journal after recovery. */
export interface RecoveredJournal {
  readonly content: JournalContent
  /** The names of allocated files without batches. */
  readonly spares: readonly string[]
  /** Greater than the number of every file. */
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
 * Reads all segments and makes their content durable. Only the system's memory may hold the last
 * batch of a killed process, and a later batch must not outlive it.
 *
 * Throws CORRUPTION with file and offset if acknowledged entries are damaged or missing. Leaves out
 * an interrupted last write.
 */
export async function recoverJournal(directory: JournalDirectory): Promise<RecoveredJournal> {
  const numbers = (await directory.list())
    .map(segmentNumberOf)
    .filter((number) => number !== undefined)
    .toSorted((a, b) => a - b)
  await directory.sync()
  const content = new JournalContent()
  const chain = new ChainReader(content)
  const spares: string[] = []
  for (const number of numbers) {
    const file = await readFile(directory, number)
    const hasContent = chain.take(file)
    if (!hasContent) spares.push(segmentFileName(number))
  }
  return { content, spares, nextNumber: (numbers.at(-1) ?? 0) + 1, position: chain.position }
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

/** Follows the chain from file to file. Holds the bytes of one file at a time. */
class ChainReader {
  readonly #content: JournalContent
  #position: ChainPosition | undefined
  /** The place where the chain broke off. No later file may hold a later batch. */
  #brokenAt: { readonly name: string; readonly offset: number } | undefined

  constructor(content: JournalContent) {
    this.#content = content
  }

  get position(): ChainPosition {
    return this.#position ?? BEGINNING
  }

  /** False for a spare. */
  take({ number, bytes, header }: FoundFile): boolean {
    const name = segmentFileName(number)
    if (header === undefined) {
      this.#refuseLater({ bytes, salt: saltOf(bytes) }, 0)
      return false
    }
    this.#position ??= { nextBatch: header.firstBatch, previousCrc: header.previousCrc }
    this.#assertFollows(header, name)
    const segment = new Segment(number, bytes.length)
    this.#content.segments.push(segment)
    const from = this.#position
    const scanned = scanSegment({ bytes, salt: header.salt, from }, (batch) => {
      const place = { segment, batch: batch.header.number, offset: batch.offset }
      this.#content.add(rowsIn(batch, name), place)
    })
    this.#position = scanned.position
    this.#brokenAt = { name, offset: scanned.end }
    this.#refuseLater({ bytes, salt: header.salt }, scanned.end)
    return true
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

function* rowsIn(batch: ScannedBatch, name: string): IterableIterator<ContentRow> {
  for (const row of rowsOf(batch, name)) yield row.mark === undefined ? row.entry : row
}

/** The salt of a header that is damaged in both copies. With a wrong salt, no batch is found. */
function saltOf(bytes: Buffer): number {
  return bytes.length < SEGMENT_HEADER_BYTES ? 0 : bytes.readUInt32BE(28)
}
