// What a table's schema says about all of its text: the language, stop words and synonyms.

import { LANGUAGE_NAMES, type LanguageName } from './analyzer-names.ts'
import { parseChoice, parseRecord, refuse } from './schema-members.ts'

export const STOP_WORDS_MAX = 2000
export const SYNONYM_RULES_MAX = 1000
/** The most texts on one side of a rule. */
export const SYNONYM_TEXTS_MAX = 32
/** The most texts of all rules together, because they are cut into terms in one piece of work. */
export const SYNONYM_TEXTS_TOTAL_MAX = 2000
const SYNONYM_WORDS_MAX = 8
/** The most characters of a stop word, and of a synonym with all of its words. */
export const SETTING_LENGTH_MAX = 100

const STOP_WORD_LISTS = ['none', ...LANGUAGE_NAMES] as const

/** Texts of one to eight words. Who looks for one of `from` also finds each of `to`. */
export interface OneWaySynonyms {
  readonly from: readonly string[]
  readonly to: readonly string[]
}

/** A list has the same meaning in every direction. */
export type SynonymRule = readonly string[] | OneWaySynonyms

/** Fields that name an analyzer of their own keep its language and stop words. */
export interface AnalysisSettings {
  readonly language?: LanguageName
  /** Words, or the list of a language. Default: those of `language`, or English ones. */
  readonly stop_words?: readonly string[] | LanguageName | 'none'
}

/** What a table's schema says about text. Every member was checked against the limits above. */
export interface TextSettings extends AnalysisSettings {
  /** Looked up when somebody searches, so that a change needs no index to be built again. */
  readonly synonyms?: readonly SynonymRule[]
}

type Members = Readonly<Record<string, unknown>>

export function parseAnalysisSettings(members: Members, where: string): AnalysisSettings {
  const language = parseChoice(members['language'], `${where}.language`, LANGUAGE_NAMES)
  const stopWords = parseStopWords(members['stop_words'], `${where}.stop_words`)
  return {
    ...(language === undefined ? {} : { language }),
    ...(stopWords === undefined ? {} : { stop_words: stopWords }),
  }
}

function parseStopWords(value: unknown, where: string): AnalysisSettings['stop_words'] {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) {
    if (typeof value !== 'string') refuse(where, 'must be a list of words, a language, or "none"')
    return parseChoice(value, where, STOP_WORD_LISTS)
  }
  if (value.length > STOP_WORDS_MAX) refuse(where, `may hold at most ${STOP_WORDS_MAX} words`)
  return value.map((word: unknown, index) => parseWords(word, `${where}[${index}]`, 1))
}

/** Undefined if the schema has none. */
export function parseSynonyms(value: unknown, where: string): readonly SynonymRule[] | undefined {
  if (value === undefined) return undefined
  if (!Array.isArray(value)) return refuse(where, 'must be a list of rules')
  if (value.length > SYNONYM_RULES_MAX) {
    refuse(where, `may hold at most ${SYNONYM_RULES_MAX} rules`)
  }
  const rules = value.map((rule: unknown, index) => parseRule(rule, `${where}[${index}]`))
  const count = rules.reduce((sum, rule) => sum + textsOf(rule).length, 0)
  if (count <= SYNONYM_TEXTS_TOTAL_MAX) return rules
  return refuse(where, `may hold at most ${SYNONYM_TEXTS_TOTAL_MAX} texts in all`)
}

function parseRule(value: unknown, where: string): SynonymRule {
  if (Array.isArray(value)) return parseTexts(value, where, 2)
  if (typeof value !== 'object') {
    refuse(where, 'must be a list such as ["tv", "television"], or {"from": [...], "to": [...]}')
  }
  const members = parseRecord(value, where, ['from', 'to'])
  return {
    from: parseTexts(members['from'], `${where}.from`, 1),
    to: parseTexts(members['to'], `${where}.to`, 1),
  }
}

function parseTexts(value: unknown, where: string, min: number): readonly string[] {
  if (!Array.isArray(value) || value.length < min || value.length > SYNONYM_TEXTS_MAX) {
    return refuse(where, `must be a list of ${min} to ${SYNONYM_TEXTS_MAX} texts`)
  }
  return value.map((text: unknown, index) => {
    return parseWords(text, `${where}[${index}]`, SYNONYM_WORDS_MAX)
  })
}

function parseWords(value: unknown, where: string, wordsMax: number): string {
  if (typeof value !== 'string' || value.trim() === '') {
    return refuse(where, 'must be a text that is not empty')
  }
  if (value.length > SETTING_LENGTH_MAX) {
    refuse(where, `may have at most ${SETTING_LENGTH_MAX} characters`)
  }
  if (value.trim().split(/\s+/).length <= wordsMax) return value
  return refuse(where, wordsMax === 1 ? 'must be one word' : `may have at most ${wordsMax} words`)
}

function textsOf(rule: SynonymRule): readonly string[] {
  return 'from' in rule ? [...rule.from, ...rule.to] : rule
}
