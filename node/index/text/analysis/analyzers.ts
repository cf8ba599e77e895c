// The analyzers by name. Each call builds one with its own cache of stems, so keep it and reuse it.

import { buildAnalyzer, TOKEN_LENGTH_MAX } from './analyzer.ts'
import { CANONICAL, COMPATIBLE, LOWER_CASE, withoutAccents } from './fold-term.ts'
import { buildHtmlAnalyzer } from './html-analyzer.ts'
import { LANGUAGES } from './languages.ts'
import { segmentByWhitespace, segmentLetters, segmentWhole } from './simple-segmenters.ts'
import { remembering } from './stem-memo.ts'
import { segmentWords } from './word-segmenter.ts'
import type { Analyzer, Pipeline } from './analyzer.ts'
import type { AnalyzerName, LanguageName } from '../../../schema/analyzer-names.ts'
import type { Language } from './languages.ts'

export const KEYWORD_LENGTH_MAX = 8192
const GRAM_LENGTH_MIN = 2
const GRAM_LENGTH_MAX = 4

// Lucene's EnglishAnalyzer.ENGLISH_STOP_WORDS_SET.
const STOP_WORDS: ReadonlySet<string> = new Set(
  (
    'a an and are as at be but by for if in into is it no not of on or such that the their then ' +
    'there these they this to was will with'
  ).split(' '),
)

const STANDARD: Pipeline = {
  name: 'standard',
  segment: segmentWords,
  fold: LOWER_CASE,
  filter: without(STOP_WORDS),
  stopWords: STOP_WORDS,
  respell: withoutAccents,
  expand: undefined,
  tokenLengthMax: TOKEN_LENGTH_MAX,
}
const BARE: Pipeline = { ...STANDARD, filter: undefined, stopWords: undefined, respell: undefined }

const WHITESPACE: Pipeline = {
  ...BARE,
  name: 'whitespace',
  segment: segmentByWhitespace,
  fold: COMPATIBLE,
}
const KEYWORD: Pipeline = {
  ...WHITESPACE,
  name: 'keyword',
  segment: segmentWhole,
  fold: CANONICAL,
  tokenLengthMax: KEYWORD_LENGTH_MAX,
}
const AS_YOU_TYPE: Pipeline = { ...STANDARD, name: 'search_as_you_type' }

/** One builder for each of ANALYZER_NAMES. */
const BUILDERS: ReadonlyMap<string, () => Analyzer> = new Map<AnalyzerName, () => Analyzer>([
  ['standard', () => buildAnalyzer(STANDARD)],
  ['html', () => buildHtmlAnalyzer('html', buildAnalyzer(STANDARD))],
  ['simple', () => buildAnalyzer({ ...BARE, name: 'simple', segment: segmentLetters })],
  ['whitespace', () => buildAnalyzer(WHITESPACE)],
  ['keyword', () => buildAnalyzer(KEYWORD)],
  ['search_as_you_type', () => buildAnalyzer({ ...AS_YOU_TYPE, expand: edgeGrams })],
  ...LANGUAGES.map((one) => [one.name, () => buildAnalyzer(languagePipeline(one))] as const),
])

/**
 * `html_german` and similar analyzers read the text of an HTML page with the analyzer behind the
 * prefix.
 */
export const HTML_PREFIX = 'html_'

/** The analyzer for the text of documents; undefined for an unknown name. */
export function analyzerOf(name: string): Analyzer | undefined {
  if (!name.startsWith(HTML_PREFIX)) return BUILDERS.get(name)?.()
  const inner = BUILDERS.get(name.slice(HTML_PREFIX.length))?.()
  return inner === undefined ? undefined : buildHtmlAnalyzer(name, inner)
}

/**
 * The analyzer for the text of queries. It differs from `analyzerOf` where indexing does more than
 * split words. Queries contain no HTML tags. A query of grams would match every word that shares a
 * gram, so each query term is cut to the longest gram and used as a prefix.
 */
export function queryAnalyzerOf(name: string): Analyzer | undefined {
  if (name === 'html') return buildAnalyzer({ ...STANDARD, name })
  if (name.startsWith(HTML_PREFIX)) return queryAnalyzerOf(name.slice(HTML_PREFIX.length))
  if (name !== AS_YOU_TYPE.name) return analyzerOf(name)
  return buildAnalyzer({ ...AS_YOU_TYPE, expand: (term) => [cutTo(term, GRAM_LENGTH_MAX)] })
}

/** The analyzer of a language, or `standard` without one, that leaves out these words and no others. */
export function analyzerWithout(
  stopWords: readonly string[],
  { name, language }: { readonly name: string; readonly language: LanguageName | undefined },
): Analyzer {
  const known = LANGUAGES.find((one) => one.name === language)
  if (known !== undefined) {
    return buildAnalyzer({ ...languagePipeline({ ...known, stopWords }), name })
  }
  const stops = new Set(stopWords.map(LOWER_CASE.term))
  return buildAnalyzer({ ...STANDARD, name, filter: without(stops), stopWords: stops })
}

export function stopWordsOf(language: LanguageName): readonly string[] {
  return LANGUAGES.find(({ name }) => name === language)?.stopWords ?? []
}

function without(stopWords: ReadonlySet<string>): (term: string) => string | undefined {
  return (term) => (stopWords.has(term) ? undefined : term)
}

/** A term of one character has no gram and stands for itself, as every ideograph does. */
function edgeGrams(term: string): readonly string[] {
  const longest = cutTo(term, GRAM_LENGTH_MAX)
  const grams: string[] = []
  for (let length = GRAM_LENGTH_MIN; ; length += 1) {
    const gram = cutTo(longest, length)
    grams.push(gram)
    if (gram.length === longest.length) return grams
  }
}

/** The first `count` characters. A surrogate pair counts as one. */
function cutTo(term: string, count: number): string {
  if (term.length <= count) return term
  let end = 0
  for (let taken = 0; taken < count && end < term.length; taken += 1) {
    end += (term.codePointAt(end) ?? 0) > 0xffff ? 2 : 1
  }
  return term.slice(0, end)
}

function languagePipeline({ name, stem, stopWords, clitic, fold, spell }: Language): Pipeline {
  const folding = fold ?? LOWER_CASE
  const stops = new Set(stopWords.map(folding.term))
  const stemOnce = remembering(spell === undefined ? stem : (term) => stem(spell(term)))
  return {
    ...BARE,
    name,
    fold: folding,
    stopWords: stops,
    filter: (term) => {
      if (stops.has(term)) return undefined
      const bare = clitic === undefined ? term : term.replace(clitic, '')
      return stops.has(bare) ? undefined : stemOnce(bare)
    },
    normalize: (term) => spell?.(folding.term(term)) ?? folding.term(term),
  }
}
