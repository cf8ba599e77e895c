// Cuts a text of any length. A chunker takes a text of limited length, so a longer one goes to it in pieces, each of
// which ends between paragraphs, lines or words.

import { ServiceError } from '../../../lib/errors.ts'
import { CHUNKS_MAX, type Chunker, type TextChunk } from '../../providers/contract/provider.ts'
import { askFairly } from './ask-fairly.ts'

/** In UTF-16 units: less than the mebibyte that a chunker takes, in any script. */
const PIECE_LENGTH_MAX = 300_000
/** How far before that end a piece may end. */
const BORDER_LENGTH = 10_000
const BORDERS = ['\n\n', '\n', ' ']
const HARMLESS = 'A sentence that any chunker can cut.'

/** How texts are cut. */
export interface ChunkingOptions {
  readonly chunker: Chunker
  /** A text has this number of chunks at most; the rest of it is left out. Undefined: nothing is. */
  readonly chunksMax: number | undefined
  readonly signal: AbortSignal
}

/**
 * The chunks with anything to see in them, and where they are in the text. Rejects as `askFairly` does, and with
 * INVALID_ARGUMENT for a text of more than CHUNKS_MAX chunks of which nothing was to be left out.
 */
export async function chunkText(
  text: string,
  { chunker, chunksMax, signal }: ChunkingOptions,
): Promise<readonly TextChunk[]> {
  const max = chunksMax ?? CHUNKS_MAX
  const chunks: TextChunk[] = []
  let from = 0
  let isCutOff = false
  while (from < text.length && chunks.length < max) {
    const piece = text.slice(from, pieceEnd(text, from))
    const found = await cut(piece, chunker, signal)
    const seen = found.filter((chunk) => chunk.text.trim() !== '')
    isCutOff ||= seen.length > max - chunks.length || hasMore(piece, found)
    for (const { text: own, start, end } of seen.slice(0, max - chunks.length)) {
      chunks.push({ text: own, start: from + start, end: from + end })
    }
    from += piece.length
  }
  if (chunksMax !== undefined) return chunks
  if (isCutOff || text.slice(from).trim() !== '') throw tooMany()
  return chunks
}

/** A chunker that reaches its limit tells nothing of what it leaves out. */
function hasMore(piece: string, found: readonly TextChunk[]): boolean {
  return found.length >= CHUNKS_MAX && piece.slice(found.at(-1)?.end).trim() !== ''
}

function tooMany(): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `its text has more than ${CHUNKS_MAX} chunks; set text.target_tokens of the chunker higher, or max_chunks, ` +
      'which leaves out what is behind',
  )
}

async function cut(
  piece: string,
  chunker: Chunker,
  signal: AbortSignal,
): Promise<readonly TextChunk[]> {
  if (piece.trim() === '') return []
  return askFairly(
    () => chunker.chunk(piece, { signal }),
    () => chunker.chunk(HARMLESS, { signal }),
  )
}

function pieceEnd(text: string, from: number): number {
  const end = from + PIECE_LENGTH_MAX
  if (end >= text.length) return text.length
  for (const border of BORDERS) {
    const at = text.lastIndexOf(border, end - border.length)
    if (at > end - BORDER_LENGTH) return at + border.length
  }
  return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end
}

function isLowSurrogate(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff
}
