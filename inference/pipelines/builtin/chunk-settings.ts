import { ServiceError } from '../../../lib/errors.ts'

/** How a text is cut. Lengths are in tokens by `countTokens`, which needs no model. */
export interface ChunkSettings {
  readonly targetTokens: number
  /** The most tokens that a chunk repeats of the one before it; at most half of the target. */
  readonly overlapTokens: number
  readonly separator: string
  /** The most chunks of a text; the rest of the text is left out. */
  readonly maxChunks: number
  /** The probability from which a model's border counts, from 0 to 1. */
  readonly threshold: number
}

const TARGET_TOKENS_MAX = 8192
const MAX_CHUNKS_MAX = 10_000
const SEPARATOR_CHARS_MAX = 256
const DEFAULT_OVERLAP_TOKENS = 50
const DEFAULTS: Omit<ChunkSettings, 'overlapTokens'> = {
  targetTokens: 500,
  separator: '\n\n',
  maxChunks: 50,
  threshold: 0.5,
}

/**
 * Fills in defaults for absent options and checks all. The default overlap is 50 tokens, or a tenth
 * of a small target. Throws INVALID_ARGUMENT with the option's name.
 */
export function buildChunkSettings(options: Partial<ChunkSettings>): ChunkSettings {
  const present = Object.fromEntries(
    Object.entries(options).filter(([, value]) => value !== undefined),
  )
  const settings = { ...DEFAULTS, ...present }
  const overlapTokens =
    options.overlapTokens ??
    Math.min(DEFAULT_OVERLAP_TOKENS, Math.floor(settings.targetTokens / 10))
  checkWhole('target_tokens', settings.targetTokens, { least: 1, most: TARGET_TOKENS_MAX })
  // A larger overlap would repeat a small text in almost every chunk of a large answer.
  const overlapMax = Math.floor(settings.targetTokens / 2)
  checkWhole('overlap_tokens', overlapTokens, { least: 0, most: overlapMax })
  checkWhole('max_chunks', settings.maxChunks, { least: 1, most: MAX_CHUNKS_MAX })
  if (!(settings.threshold >= 0 && settings.threshold <= 1)) {
    throw new ServiceError('INVALID_ARGUMENT', 'threshold must be from 0 to 1')
  }
  if (settings.separator.length > SEPARATOR_CHARS_MAX) {
    throw new ServiceError(
      'INVALID_ARGUMENT',
      `separator must have at most ${SEPARATOR_CHARS_MAX} characters`,
    )
  }
  return { ...settings, overlapTokens }
}

function checkWhole(
  field: string,
  value: number,
  { least, most }: { readonly least: number; readonly most: number },
): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `${field} must be a whole number from ${least} to ${most}`,
  )
}
