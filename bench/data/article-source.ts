// The documents of the text benchmark: articles of 250 bytes to 1 KiB. Article i is the same in every
// process, given the seed, so that the engines need not send each other anything.

import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { buildVocabulary, drawRank } from './vocabulary.ts'

export interface Article {
  readonly title: string
  readonly body: string
  readonly category: string
  readonly price: number
  /** Milliseconds since 1970. */
  readonly createdMs: number
  /** Of the words of the body, in order. */
  readonly ranks: readonly number[]
}

export interface ArticleSource {
  readonly words: readonly string[]
  articleAt(index: number): Article
  /** JSON text: ASCII, so that its length is its size in bytes. */
  documentAt(index: number): string
}

export const CATEGORIES = 50
export const PRICE_MAX = 1000

const BODY_BYTES_MIN = 160
const BODY_BYTES_MAX = 840
const TITLE_WORDS_MIN = 3
const TITLE_WORDS_MAX = 5
const SENTENCE_WORDS_MIN = 6
const SENTENCE_WORDS_MAX = 18
/** Words of these ranks have a companion that often follows them: phrases that many articles share. */
const COMPANION_RANKS = { from: 50, to: 20_000 } as const
const COMPANION_SHARE = 1 / 8
const COMPANION_STEP = 7919
const CREATED_FROM_MS = Date.UTC(2015, 0, 1)
const CREATED_SPAN_S = 10 * 365 * 24 * 3600

export function buildArticleSource(seed: number): ArticleSource {
  const words = buildVocabulary()
  const capitalised = words.map((word) => word.charAt(0).toUpperCase() + word.slice(1))
  const language = { words, capitalised }
  const articleAt = (index: number): Article => buildArticle(language, randomOf(seed, index))
  return {
    words,
    articleAt,
    documentAt: (index) => {
      const { title, body, category, price, createdMs } = articleAt(index)
      const created = new Date(createdMs).toISOString()
      return (
        `{"title":"${title}","body":"${body}","category":"${category}",` +
        `"price":${price},"created":"${created}"}`
      )
    },
  }
}

interface Language {
  readonly words: readonly string[]
  readonly capitalised: readonly string[]
}

function buildArticle(language: Language, random: Random): Article {
  const ranks: number[] = []
  const titleWords = between(random, TITLE_WORDS_MIN, TITLE_WORDS_MAX)
  const title = Array.from({ length: titleWords }, () => drawRank(random))
  return {
    title: title.map((rank) => language.capitalised[rank]).join(' '),
    body: buildBody(language, random, ranks),
    category: `category-${zipfCategory(random)}`,
    price: Math.round(PRICE_MAX * random() * 100) / 100,
    createdMs: CREATED_FROM_MS + between(random, 0, CREATED_SPAN_S) * 1000,
    ranks,
  }
}

/** Sentences up to a length drawn evenly; `ranks` gets what was written. */
function buildBody({ words, capitalised }: Language, random: Random, ranks: number[]): string {
  const bytesMax = between(random, BODY_BYTES_MIN, BODY_BYTES_MAX)
  let text = ''
  let leftInSentence = 0
  let rank = drawRank(random)
  for (;;) {
    const isStart = leftInSentence === 0
    const word = must((isStart ? capitalised : words)[rank], 'word')
    if (text.length + word.length + 3 > bytesMax) return `${text}.`
    if (isStart) {
      text += text === '' ? word : `. ${word}`
      leftInSentence = between(random, SENTENCE_WORDS_MIN, SENTENCE_WORDS_MAX)
    } else {
      text += ` ${word}`
      leftInSentence -= 1
    }
    ranks.push(rank)
    rank = nextRank(random, rank)
  }
}

function nextRank(random: Random, rank: number): number {
  const { from, to } = COMPANION_RANKS
  const hasCompanion = rank >= from && rank < to
  if (!hasCompanion || random() >= COMPANION_SHARE) return drawRank(random)
  return from + ((rank * COMPANION_STEP) % (to - from))
}

function zipfCategory(random: Random): number {
  return Math.floor(Math.exp(random() * Math.log(CATEGORIES + 1))) - 1
}

/** Both ends included. */
function between(random: Random, min: number, max: number): number {
  return min + Math.floor(random() * (max - min + 1))
}

/** Neighbouring numbers must not begin neighbouring sequences. */
function randomOf(seed: number, index: number): Random {
  let mixed = Math.imul(index ^ Math.imul(seed, 0x9e3779b1), 0x85ebca6b)
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35)
  return seededRandom(mixed ^ (mixed >>> 16))
}
