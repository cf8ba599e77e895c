// Chooses what a query may have meant, from the close words that the shards found.
//
// Invariants:
//   CS1  A suggested word is at least as frequent as the typed one, over all shards.
//   CS2  A word that enough documents have is left alone.

import type { Sliced } from '../../../lib/sliced.ts'
import type { FieldTerm, TermStatistics } from '../../index/text/matching/statistics.ts'
import { termKey } from '../../index/text/encoding/term-key.ts'
import { CLOSE_WORDS_MAX, closest, type CloseWord } from '../../index/text/suggest/close-words.ts'
import { isDecent, type WordInField } from '../../index/text/suggest/suggest-words.ts'
import type { QuerySuggestion, SuggestedWord } from '../run/query-result.ts'

const OPTIONS_MAX = 5
/** A rare word may be meant. A much more frequent one is worth asking about. */
const RARE_WORD_FACTOR = 20

/** A typed word in one field of all shards. */
export type FoundWord = Omit<WordInField, 'isBegun'>

/** What of a query is corrected. */
export interface SuggestionRules {
  /** The whole text of a query string; undefined for other queries. */
  readonly queryString: string | undefined
  /** Whether only words that no document has are looked at. */
  readonly isOnlyUnknown: boolean
}

type Counts = Pick<TermStatistics, 'fields' | 'docFreqs'>

/** Merges the answers of all shards: frequencies add up. Words without a close one are left out. */
export function* mergeWords(
  answers: readonly (readonly WordInField[])[],
): Sliced<readonly FoundWord[]> {
  const begun = new Set<string>()
  const merged = new Map<string, WordInField>()
  for (const answer of answers) {
    for (const word of answer) {
      if (word.isBegun) begun.add(placeOf(word))
      const key = termKey(word.field, placeOf(word))
      const close = mergeClose(merged.get(key)?.close ?? [], word)
      merged.set(key, { ...word, close })
    }
    yield
  }
  const places = new Set<string>()
  for (const word of merged.values()) if (word.close.length > 0) places.add(placeOf(word))
  return [...merged.values()].filter((word) => {
    return places.has(placeOf(word)) && !begun.has(placeOf(word))
  })
}

function mergeClose(known: readonly CloseWord[], { term, close }: WordInField) {
  if (known.length === 0) return close
  const byTerm = new Map(known.map((one) => [one.term, one]))
  for (const one of close) {
    const docFreq = one.docFreq + (byTerm.get(one.term)?.docFreq ?? 0)
    byTerm.set(one.term, { ...one, docFreq })
  }
  return closest([...byTerm.values()], term, ({ word }) => word).slice(0, CLOSE_WORDS_MAX)
}

function placeOf({ text, start, end }: FoundWord): string {
  return `${start}\0${end}\0${text}`
}

/** What has to be counted over all shards. */
export function termsOf(words: readonly FoundWord[]): readonly FieldTerm[] {
  return words.flatMap(({ field, term, close }) => {
    return [{ field, term }, ...close.map((one) => ({ field, term: one.term }))]
  })
}

/**
 * One suggestion for each text. Texts are those of clauses, or the query string that they are
 * parts of.
 */
export function chooseSuggestions(
  words: readonly FoundWord[],
  counts: Counts,
  { queryString, isOnlyUnknown }: SuggestionRules,
): readonly QuerySuggestion[] {
  const byText = new Map<string, SuggestedWord[]>()
  for (const inFields of Map.groupBy(words, placeOf).values()) {
    const [first] = inFields
    const options = optionsOf(inFields, { ...counts, isOnlyUnknown })
    if (first === undefined || options.length === 0) continue
    const text = queryString ?? first.text
    const typed = first.text.slice(first.start, first.end)
    const offsets = queryString === undefined ? [first.start] : placesIn(queryString, typed)
    const suggested = offsets.map((offset) => {
      return { text: typed, offset, length: typed.length, options }
    })
    byText.set(text, [...(byText.get(text) ?? []), ...suggested])
  }
  return [...byText]
    .filter(([, suggested]) => suggested.length > 0)
    .map(([text, suggested]) => suggestionFor(text, suggested))
}

/** A word in several fields is as frequent as in the field that has it most. */
function optionsOf(
  inFields: readonly FoundWord[],
  { fields, docFreqs, isOnlyUnknown }: Counts & { readonly isOnlyUnknown: boolean },
) {
  const freqOf = (field: string, term: string): number => docFreqs.get(termKey(field, term)) ?? 0
  let typedFreq = 0
  const byWord = new Map<string, CloseWord>()
  for (const { field, term, close } of inFields) {
    const own = freqOf(field, term)
    if (isDecent(own, fields.get(field)?.docCount ?? 0)) return []
    typedFreq = Math.max(typedFreq, own)
    for (const one of close) {
      const docFreq = Math.max(byWord.get(one.word)?.docFreq ?? 0, freqOf(field, one.term))
      byWord.set(one.word, { ...one, docFreq })
    }
  }
  if (isOnlyUnknown && typedFreq > 0) return []
  const docFreqMin = Math.max(1, typedFreq * RARE_WORD_FACTOR)
  const frequent = [...byWord.values()].filter(({ docFreq }) => docFreq >= docFreqMin)
  return closest(frequent, inFields[0]?.term ?? '', ({ word }) => word)
    .slice(0, OPTIONS_MAX)
    .map(({ word, docFreq }) => ({ text: word, doc_freq: docFreq }))
}

/** Where the word stands by itself: no field name, no pattern, not excluded. */
function placesIn(queryString: string, word: string): readonly number[] {
  const places: number[] = []
  for (let at = queryString.indexOf(word); at >= 0; at = queryString.indexOf(word, at + 1)) {
    const before = queryString.slice(Math.max(0, at - 2), at)
    const behind = queryString.slice(at + word.length, at + word.length + 2)
    const isWhole = !/[\p{L}\p{N}_]$/u.test(before) && !/^[\p{L}\p{N}_*?:]/u.test(behind)
    if (isWhole && !/(?:^|[\s(])[-!]$/.test(before)) places.push(at)
  }
  return places
}

function suggestionFor(text: string, suggested: readonly SuggestedWord[]): QuerySuggestion {
  const words: SuggestedWord[] = []
  let corrected = ''
  let end = 0
  for (const word of suggested.toSorted((a, b) => a.offset - b.offset)) {
    const [best] = word.options
    // A whole value that is one term covers the words of the same text.
    if (best === undefined || word.offset < end) continue
    corrected += text.slice(end, word.offset) + best.text
    end = word.offset + word.length
    words.push(word)
  }
  return { text, corrected: corrected + text.slice(end), words }
}
