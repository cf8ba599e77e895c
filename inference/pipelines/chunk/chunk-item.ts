import { estimateTokens } from '../token-estimate.ts'
import type { ChunkSettings } from './chunk-settings.ts'
import type { TextRange } from './fixed-chunker.ts'

export interface ChunkItem {
  readonly text: string
  readonly settings: ChunkSettings
}

export interface ChunkResult {
  /** `fixed`: the model failed on this text, and the built-in chunker has cut it. */
  readonly chunkedBy: 'model' | 'fixed'
  readonly chunks: readonly TextRange[]
}

/** About how many tokens the text has. */
export function costOfChunkItem({ text }: ChunkItem): number {
  return estimateTokens(text.length) + 2
}
