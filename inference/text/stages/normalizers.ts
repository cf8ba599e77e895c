// The normalizers of tokenizer.json, after the reference implementation. Character classes use
// White_Space and general categories, as there; \s and \d of JavaScript differ from them.

import { isJsonRecord } from '../../../lib/json-record.ts'
import type { JsonRecord } from '../../../lib/json-record.ts'
import { applyEdits, stageOfMatches, stageOfUnits } from '../aligned-text.ts'
import type { TextStage } from '../aligned-text.ts'
import { isText } from '../json-values.ts'
import { compilePattern } from '../tokenizer-library.ts'
import { openCharsmap } from './charsmap.ts'

/**
 * A base character with its marks, or the letters of one Hangul syllable: normal forms compose
 * these.
 */
const UNIT = /[\u1100-\u115f][\u1160-\u11ff]*|[^\p{M}]?[\p{M}\uff9e\uff9f]+|./gsu
const CHARACTER = /./gsu
const WHITE_SPACE = /\p{White_Space}/gu
const LEADING_SPACE = /^\p{White_Space}+/gu
const TRAILING_SPACE = /(?<!\p{White_Space})\p{White_Space}+$/gu
const BERT_REMOVED = /(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}\ufffd]/gu
/** The reference leaves out U+2B820 to U+2B91F. */
const CHINESE =
  /[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{2a6df}\u{2a700}-\u{2b81f}\u{2b920}-\u{2ceaf}\u{2f800}-\u{2fa1f}]/gu
/** U+0001 to U+0008, U+000B, U+000E to U+001F, U+007F, U+008F and U+009F. */
const NMT_REMOVED = /(?![\0\t\n\f\r\u0080-\u008e\u0090-\u009e])\p{Cc}/gu
const NMT_SPACE = /[\t\n\f\r\u1680\u200b-\u200f\u2028\u2029\u2581\ufeff\ufffd]/gu

type Build = (config: JsonRecord) => readonly TextStage[]

const lowercase = stageOfUnits(CHARACTER, lowerEach)
const stripAccents = stageOfUnits(UNIT, (text) => text.normalize('NFD').replaceAll(/\p{Mn}/gu, ''))

const builders: Readonly<Record<string, Build>> = {
  BertNormalizer: buildBert,
  Lowercase: () => [lowercase],
  NFC: () => [normalForm('NFC')],
  NFD: () => [normalForm('NFD')],
  NFKC: () => [normalForm('NFKC')],
  NFKD: () => [normalForm('NFKD')],
  Nmt: () => [remove(NMT_REMOVED), stageOfMatches(NMT_SPACE, () => ' ')],
  Precompiled: ({ precompiled_charsmap: charsmap }) => [openCharsmap(charsmap)],
  Prepend: ({ prepend }) => [prependStage(isText(prepend) ? prepend : '')],
  Replace: ({ pattern, content }) => {
    const inserted = isText(content) ? content : ''
    return [stageOfMatches(compilePattern(pattern), () => inserted)]
  },
  Sequence: ({ normalizers }) =>
    (Array.isArray(normalizers) ? normalizers : []).flatMap(buildNormalizer),
  Strip: ({ strip_left: left, strip_right: right }) => [
    ...(left === true ? [remove(LEADING_SPACE)] : []),
    ...(right === true ? [remove(TRAILING_SPACE)] : []),
  ],
  StripAccents: () => [stageOfUnits(UNIT, (text) => text.replaceAll(/\p{M}/gu, ''))],
}

/** The stages of a normalizer in order. Its type was checked before. */
export function buildNormalizer(config: unknown): readonly TextStage[] {
  if (!isJsonRecord(config) || !isText(config['type'])) return []
  return builders[config['type']]?.(config) ?? []
}

/** Accents are removed before letters are lowered. By default, `lowercase` decides about both. */
function buildBert(config: JsonRecord): TextStage[] {
  const strips = config['strip_accents'] ?? config['lowercase']
  return [
    ...(config['clean_text'] === true
      ? [remove(BERT_REMOVED), stageOfMatches(WHITE_SPACE, () => ' ')]
      : []),
    ...(config['handle_chinese_chars'] === true
      ? [stageOfMatches(CHINESE, (character) => ` ${character} `)]
      : []),
    ...(strips === true ? [stripAccents] : []),
    ...(config['lowercase'] === true ? [lowercase] : []),
  ]
}

function normalForm(form: 'NFC' | 'NFD' | 'NFKC' | 'NFKD'): TextStage {
  return stageOfUnits(UNIT, (text) => text.normalize(form))
}

function remove(pattern: RegExp): TextStage {
  return stageOfMatches(pattern, () => '')
}

/** Leaves an empty text empty. */
function prependStage(content: string): TextStage {
  return (input) => (input.text === '' ? input : applyEdits(input, [{ start: 0, end: 0, content }]))
}

/** Lowers each character by itself: JavaScript would turn a final sigma into another letter. */
function lowerEach(text: string): string {
  return text.replaceAll('Σ', 'σ').toLowerCase()
}
