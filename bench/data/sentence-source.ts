// Short documents of English words: descriptions of one sentence, as catalogues, tickets and package lists have
// them. The words are those of the shipped model's vocabulary, which lists them by how often they occur.

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { drawRank } from './vocabulary.ts'

const MODEL = path.resolve(
  import.meta.dirname,
  '../../inference/builtin-models/embedders/quarry-static-en',
)
const WORD = /^[a-z]{2,}$/
/** Tokens before "the" are single characters and marks. */
const FIRST_WORD_ID = 1996
const WORDS_MIN = 8
const WORDS_MAX = 24
const CATEGORIES = 50
const PRICE_MAX = 1000

/** Gives the JSON text of the next document. No two are equal, as far as chance allows. */
export function buildSentenceSource(seed: number): () => string {
  const words = englishWords()
  const random = seededRandom(seed)
  return () => {
    const length = WORDS_MIN + Math.floor(random() * (WORDS_MAX - WORDS_MIN + 1))
    const text = Array.from({ length }, () => drawWord(words, random)).join(' ')
    const category = `category-${Math.floor(random() * CATEGORIES)}`
    const price = Math.round(PRICE_MAX * random() * 100) / 100
    return JSON.stringify({ text: `${text}.`, category, price })
  }
}

function englishWords(): readonly string[] {
  const file: { readonly model: { readonly vocab: Readonly<Record<string, number>> } } = JSON.parse(
    readFileSync(path.join(MODEL, 'tokenizer.json'), 'utf8'),
  )
  return Object.entries(file.model.vocab)
    .filter(([token, id]) => id >= FIRST_WORD_ID && WORD.test(token))
    .toSorted(([, left], [, right]) => left - right)
    .map(([token]) => token)
}

/** By Zipf's law; ranks beyond the vocabulary are drawn again. */
function drawWord(words: readonly string[], random: Random): string {
  let rank = drawRank(random)
  while (rank >= words.length) rank = drawRank(random)
  return must(words[rank], 'a word')
}
