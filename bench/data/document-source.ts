// The documents of the benchmark. Document i is the same bytes in every process, given the seed:
// the servers, the peers and the load generator need not send each other anything.

import { must } from '../../lib/assert.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import { buildArticleSource } from './article-source.ts'

export type DocumentShape = 'kilobyte' | 'small' | 'article'

export interface DocumentSource {
  /** JSON text: ASCII, so that its length is its size in bytes. */
  documentAt(index: number): string
}

const KILOBYTE = 1024
/**
 * So many different texts, then they repeat under other ids: far more than share a block or a page,
 * so a store can compress them no better than if all were different.
 */
const BODIES = 997
const VOCABULARY = 5000
const CITIES = ['Bergen', 'Lisbon', 'Nantes', 'Riga', 'Trieste', 'Vigo', 'Gdansk', 'Porto']
const ONSETS = ['b', 'br', 'd', 'f', 'gr', 'k', 'l', 'm', 'n', 'p', 'r', 's', 'st', 't', 'tr', 'v']
const VOWELS = ['a', 'e', 'i', 'o', 'u', 'ea', 'ou', 'ai']
const CODAS = ['', '', 'n', 'r', 's', 'l', 'm', 'nd', 'st']

export function buildDocumentSource(shape: DocumentShape, seed: number): DocumentSource {
  if (shape === 'small') return { documentAt: smallDocument }
  if (shape === 'article') return buildArticleSource(seed)
  const random = seededRandom(seed)
  const words = Array.from({ length: VOCABULARY }, () => buildWord(random))
  const bodies = Array.from({ length: BODIES }, () => buildBody(random, words))
  return {
    documentAt: (index) => {
      const body = must(bodies[index % BODIES], 'body')
      return `{"id":"${String(index).padStart(10, '0')}",${body}`
    },
  }
}

/** Fixed width, so that the order of keys is the order of indexes. */
export function documentKey(index: number): string {
  return `doc-${String(index).padStart(10, '0')}`
}

/** A fixed permutation of [0, count) that jumps all over it: the order of keys by hash. */
export function scatter(index: number, count: number): number {
  // Nearest to the golden section of `count` that shares no factor with it.
  let step = Math.max(1, Math.floor(count * 0.618_033_988_75))
  while (greatestCommonDivisor(step, count) !== 1) step += 1
  return Number((BigInt(index) * BigInt(step)) % BigInt(count))
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

function smallDocument(index: number): string {
  return `{"n":${index},"group":"g${index % 100}","on":${index % 3 === 0}}`
}

/** All members but the id, cut to make the whole document 1 KiB. */
function buildBody(random: Random, words: readonly string[]): string {
  const pick = <T>(values: readonly T[]): T =>
    must(values[Math.floor(random() * values.length)], 'value')
  const common = (): string => must(words[Math.floor(random() ** 3 * VOCABULARY)], 'word')
  const head = [
    `"title":"${common()} ${common()} ${common()}"`,
    `"author":{"name":"${pick(words)} ${pick(words)}","city":"${pick(CITIES)}"}`,
    `"price":${(random() * 100).toFixed(2)}`,
    `"stock":${Math.floor(random() * 1000)}`,
    `"published":"20${10 + Math.floor(random() * 15)}-0${1 + Math.floor(random() * 9)}-1${Math.floor(random() * 9)}T08:00:00Z"`,
    `"tags":["${pick(words)}","${pick(words)}","${pick(words)}"]`,
    `"in_print":${random() < 0.5}`,
    '"text":"',
  ].join(',')
  const textLength = KILOBYTE - '{"id":"0123456789",'.length - head.length - '"}'.length
  let text = common()
  while (text.length < textLength) text += ` ${common()}`
  return `${head}${text.slice(0, textLength)}"}`
}

function buildWord(random: Random): string {
  const pick = (parts: readonly string[]): string =>
    must(parts[Math.floor(random() * parts.length)], 'part')
  const syllables = 1 + Math.floor(random() * 3)
  let word = ''
  for (let i = 0; i < syllables; i += 1) word += pick(ONSETS) + pick(VOWELS) + pick(CODAS)
  return word
}
