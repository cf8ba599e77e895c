import { estimateTokens } from '../token-estimate.ts'
import type { ChunkSettings } from '../builtin/chunk-settings.ts'
import type { TextRange } from '../builtin/word-scanner.ts'

/** One text to cut. */
export interface ChunkItem {
  readonly text: string
  readonly settings: ChunkSettings
}

/** The chunks of a text in order. */
export interface ChunkResult {
  /** `fixed`: by the built-in chunker, which is also used when a model fails. */
  readonly chunkedBy: 'model' | 'fixed'
  readonly chunks: readonly TextRange[]
}

/** The estimated number of tokens of the text. */
export function costOfChunkItem({ text }: ChunkItem): number {
  return estimateTokens(text.length) + 2
}
