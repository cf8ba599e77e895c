// Cuts a text of any length. A chunker takes a text of limited length, so a longer one goes to it in pieces, each of
// which ends between paragraphs, lines or words.

import type { Chunker, TextChunk } from '../../providers/contract/provider.ts'
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
  /** What comes behind so many chunks is left out. */
  readonly chunksMax: number
  readonly signal: AbortSignal
}

/** The chunks with anything to see in them, and where they are in the text. Rejects as `askFairly` does. */
export async function chunkText(
  text: string,
  { chunker, chunksMax, signal }: ChunkingOptions,
): Promise<readonly TextChunk[]> {
  const chunks: TextChunk[] = []
  for (let from = 0; from < text.length && chunks.length < chunksMax;) {
    const end = pieceEnd(text, from)
    const piece = text.slice(from, end)
    for (const chunk of await cut(piece, chunker, signal)) {
      const { start } = chunk
      if (chunk.text.trim() === '' || chunks.length >= chunksMax) continue
      chunks.push({ text: chunk.text, start: from + start, end: from + chunk.end })
    }
    from = end
  }
  return chunks
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
