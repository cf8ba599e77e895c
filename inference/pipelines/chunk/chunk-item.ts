import { estimateTokens } from '../token-estimate.ts'
import type { ChunkSettings } from '../builtin/chunk-settings.ts'
import type { TextRange } from '../builtin/fixed-chunker.ts'

export interface ChunkItem {
  readonly text: string
  readonly settings: ChunkSettings
}

export interface ChunkResult {
  /** `fixed`: the built-in chunker, which also cuts what a model fails on. */
  readonly chunkedBy: 'model' | 'fixed'
  readonly chunks: readonly TextRange[]
}

/** About how many tokens the text has. */
export function costOfChunkItem({ text }: ChunkItem): number {
  return estimateTokens(text.length) + 2
}
