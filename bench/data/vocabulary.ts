// Made-up words by rank. How often a word occurs falls with its rank by Zipf's law, and frequent words
// are short, as in real languages.

import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'

export const VOCABULARY_WORDS = 120_000
/** Mandelbrot's offset, as English texts have it: the first word is one of thirty, not one of twelve. */
const ZIPF_OFFSET = 2.7
const ZIPF_LOGARITHM = Math.log((VOCABULARY_WORDS + ZIPF_OFFSET) / ZIPF_OFFSET)
const SINGLE_SYLLABLE_RANKS = 200
const TWO_SYLLABLE_RANKS = 6000
const SEED = 7919

const ONSETS = ['b', 'br', 'd', 'f', 'gr', 'k', 'l', 'm', 'n', 'p', 'r', 's', 'st', 't', 'tr', 'v']
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ea', 'ou', 'ai']
const CODAS = ['', '', 'n', 'r', 's', 'l', 'm', 'nd', 'st']
/** Those of the syllables that the standard analyzer leaves out, while the peers keep them. */
const STOP_WORDS = ['be', 'for', 'no', 'to']

/** The same in every process: it is the language, not the documents, so that it has no seed. */
export function buildVocabulary(): readonly string[] {
  const random = seededRandom(SEED)
  const words = new Set<string>()
  while (words.size < VOCABULARY_WORDS) {
    const word = buildWord(random, words.size)
    if (!STOP_WORDS.includes(word)) words.add(word)
  }
  return [...words]
}

/** The rank of a word drawn by its frequency: p(rank) falls as 1 / (rank + offset). */
export function drawRank(random: Random): number {
  const rank = Math.floor(ZIPF_OFFSET * Math.exp(random() * ZIPF_LOGARITHM) - ZIPF_OFFSET)
  return Math.min(rank, VOCABULARY_WORDS - 1)
}

function buildWord(random: Random, rank: number): string {
  const pick = (parts: readonly string[]): string =>
    must(parts[Math.floor(random() * parts.length)], 'part')
  let word = ''
  for (let left = syllablesOf(rank); left > 0; left -= 1) {
    word += pick(ONSETS) + pick(VOWELS) + pick(CODAS)
  }
  return word
}

function syllablesOf(rank: number): number {
  if (rank < SINGLE_SYLLABLE_RANKS) return 1
  return rank < TWO_SYLLABLE_RANKS ? 2 : 3
}
