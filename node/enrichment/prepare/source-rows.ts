// What gets a vector of its own: the whole source, or each of its chunks and images.

import { ServiceError } from '../../../lib/errors.ts'
import type { EmbedPart, PromptPart, TextChunk } from '../../providers/contract/provider.ts'
import type { PreparedRow, PreparedSource } from './source-preparer.ts'

/**
 * The bytes that the vectors and texts of a document may have in one index: thousands of chunks, and no more than
 * goes through the log, between nodes and to a reader in one message beside others.
 */
const ARTIFACT_BYTES_MAX = 16 * 1024 * 1024
const ROW_HEAD_BYTES = 8
const NUMBER_BYTES = 4
const QUOTES_BYTES = 3

/** The text of all parts, and where in it the images stand. */
export interface PlacedParts {
  readonly text: string
  readonly images: readonly { readonly at: number; readonly part: EmbedPart }[]
}

/** INVALID_ARGUMENT for a sound or a film: nothing embeds these. */
export function placeParts(parts: readonly PromptPart[]): PlacedParts {
  const texts: string[] = []
  const images: { at: number; part: EmbedPart }[] = []
  let length = 0
  for (const part of parts) {
    if (part.kind === 'text') {
      texts.push(part.text)
      length += part.text.length
    } else if (part.kind === 'image') {
      images.push({ at: length, part: { kind: 'image', dataUri: part.dataUri } })
    } else {
      throw refuse(
        `${part.kind} cannot be embedded itself; give the index a summarizer that describes it`,
      )
    }
  }
  return { text: texts.join(''), images }
}

/** One row for all; none where nothing is to be seen. */
export function wholeRow({ text, images }: PlacedParts): readonly PreparedRow[] {
  const shown: EmbedPart[] = text.trim() === '' ? [] : [{ kind: 'text', text }]
  const parts = [...shown, ...images.map(({ part }) => part)]
  return parts.length === 0 ? [] : [{ start: 0, end: 0, parts }]
}

/** A row for each chunk, and behind them one for each image, at its place among the chunks and without a length. */
export function rowsOfChunks(
  chunks: readonly TextChunk[],
  { images }: PlacedParts,
): readonly PreparedRow[] {
  return [
    ...chunks.map(({ text, start, end }): PreparedRow => {
      return { start, end, parts: [{ kind: 'text', text }] }
    }),
    ...images.map(({ at, part }): PreparedRow => ({ start: at, end: at, parts: [part] })),
  ]
}

/** INVALID_ARGUMENT for more than an artifact may have. */
export function checkSize({ rows, texts }: PreparedSource, dimension: number): void {
  const ofTexts = [...(texts?.chunks ?? []), texts?.summary ?? '']
  const textBytes = ofTexts.reduce((sum, text) => sum + Buffer.byteLength(text) + QUOTES_BYTES, 0)
  const bytes = rows.length * (ROW_HEAD_BYTES + dimension * NUMBER_BYTES) + textBytes
  if (bytes <= ARTIFACT_BYTES_MAX) return
  throw refuse(
    `${rows.length} chunks of ${dimension} numbers and their texts take ${bytes} bytes; ${ARTIFACT_BYTES_MAX} are kept ` +
      'of a document. Set text.target_tokens of the chunker higher, or max_chunks lower',
  )
}

function refuse(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', problem)
}
