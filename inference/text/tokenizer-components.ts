// The supported normalizers, pre-tokenizers and decoders of tokenizer.json, and the checks of their
// parameters. Unknown components are refused.

import { ServiceError } from '../../lib/errors.ts'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { JsonRecord } from '../../lib/json-record.ts'
import { isText, isWhole } from './json-values.ts'
import { parseSplitBehavior } from './stages/split-behavior.ts'

const COMPONENTS_MAX = 64
const PATTERN_CHARS_MAX = 4096
/** All replacements together may lengthen a text by at most this factor. */
const GROWTH_MAX = 64

/** The facts about the components that matter after the check. */
export interface ComponentFindings {
  /** The stages that run regular expressions from the file. Work with them needs a time limit. */
  readonly patternStages: ReadonlySet<ComponentStage>
}

interface Tally {
  components: number
  growth: number
  stage: ComponentStage
  readonly patternStages: Set<ComponentStage>
}

/** A stage by its field in tokenizer.json. */
export type ComponentStage = 'normalizer' | 'pre_tokenizer' | 'decoder'
type Check = (component: JsonRecord, tally: Tally) => void

const accept: Check = () => undefined

const checksByStage: Record<ComponentStage, Readonly<Record<string, Check>>> = {
  normalizer: {
    BertNormalizer: accept,
    Lowercase: accept,
    NFC: accept,
    NFD: accept,
    NFKC: accept,
    NFKD: accept,
    Nmt: accept,
    Precompiled: accept,
    Prepend: ({ prepend }, tally) => checkInsertion('prepend', prepend, tally),
    Replace: checkReplace,
    Sequence: (component, tally) => checkMembers('normalizer', component['normalizers'], tally),
    Strip: accept,
    StripAccents: accept,
  },
  pre_tokenizer: {
    BertPreTokenizer: accept,
    ByteLevel: accept,
    Digits: accept,
    FixedLength: checkFixedLength,
    Metaspace: checkMetaspace,
    Punctuation: checkPunctuation,
    Replace: checkReplace,
    Sequence: (component, tally) =>
      checkMembers('pre_tokenizer', component['pretokenizers'], tally),
    Split: checkSplit,
    Whitespace: accept,
    WhitespaceSplit: accept,
  },
  decoder: {
    BPEDecoder: accept,
    ByteFallback: accept,
    ByteLevel: accept,
    CTC: accept,
    Fuse: accept,
    Metaspace: accept,
    Replace: checkReplace,
    Sequence: (component, tally) => checkMembers('decoder', component['decoders'], tally),
    Strip: checkStrip,
    WordPiece: accept,
  },
}

/**
 * Checks all components of tokenizer.json. Throws INVALID_ARGUMENT for one that is not supported.
 */
export function checkComponents(file: JsonRecord): ComponentFindings {
  const tally: Tally = {
    stage: 'normalizer',
    components: 0,
    growth: 1,
    patternStages: new Set(),
  }
  for (const stage of ['normalizer', 'pre_tokenizer', 'decoder'] as const) {
    tally.stage = stage
    tally.growth = 1
    checkComponent(stage, file[stage] ?? null, tally)
  }
  return { patternStages: tally.patternStages }
}

function checkComponent(stage: ComponentStage, component: unknown, tally: Tally): void {
  if (component === null) return
  tally.components += 1
  if (tally.components > COMPONENTS_MAX) throw refusal(`more than ${COMPONENTS_MAX} components`)
  const type = isJsonRecord(component) ? component['type'] : undefined
  const check = isText(type) && Object.hasOwn(checksByStage[stage], type)
  if (!isJsonRecord(component) || !check) {
    throw refusal(`the ${stage} ${JSON.stringify(type)} is not supported`)
  }
  checksByStage[stage][type]?.(component, tally)
}

function checkMembers(stage: ComponentStage, members: unknown, tally: Tally): void {
  if (!Array.isArray(members)) throw refusal(`a Sequence of the ${stage} has no list of members`)
  for (const member of members) checkComponent(stage, member, tally)
}

function checkReplace(component: JsonRecord, tally: Tally): void {
  checkPattern(component['pattern'], tally)
  checkInsertion('content', component['content'] ?? '', tally)
}

function checkInsertion(field: string, inserted: unknown, tally: Tally): void {
  if (!isText(inserted)) throw refusal(`"${field}" must be a text`)
  tally.growth *= Math.max(1, inserted.length)
  if (tally.growth > GROWTH_MAX) {
    throw refusal(`replacements lengthen a text more than ${GROWTH_MAX} times`)
  }
}

function checkPattern(pattern: unknown, tally: Tally): void {
  const regex: unknown = isJsonRecord(pattern) ? pattern['Regex'] : undefined
  const source: unknown = regex ?? (isJsonRecord(pattern) ? pattern['String'] : undefined)
  if (!isText(source) || source.length > PATTERN_CHARS_MAX) {
    throw refusal(
      `a pattern must be a String or a Regex of at most ${PATTERN_CHARS_MAX} characters`,
    )
  }
  if (regex !== undefined) tally.patternStages.add(tally.stage)
}

function checkSplit(component: JsonRecord, tally: Tally): void {
  checkPattern(component['pattern'], tally)
  parseSplitBehavior(component['behavior'])
}

function checkPunctuation({ behavior }: JsonRecord): void {
  parseSplitBehavior(behavior ?? 'Isolated')
}

function checkFixedLength(component: JsonRecord): void {
  const length = component['length']
  if (!isWhole(length) || length < 1) throw refusal('"length" of FixedLength must be at least 1')
}

function checkMetaspace(component: JsonRecord): void {
  for (const field of ['replacement', 'str_rep']) {
    const mark = component[field] ?? '\u2581'
    const isMark = isText(mark) && mark.length === 1
    if (!isMark) throw refusal(`"${field}" of Metaspace must be one character`)
  }
}

function checkStrip({ start, stop }: JsonRecord): void {
  for (const count of [start ?? 0, stop ?? 0]) {
    if (!isWhole(count) || count < 0 || count > 1024) {
      throw refusal('"start" and "stop" of Strip must be from 0 to 1024')
    }
  }
}

function refusal(problem: string): ServiceError {
  return new ServiceError('INVALID_ARGUMENT', `tokenizer.json: ${problem}`)
}
