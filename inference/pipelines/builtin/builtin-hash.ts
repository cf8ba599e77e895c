// The embedder without a model file: feature hashing of words and character n-grams.
//
// It is lexical, not semantic. Texts are near each other when they share words, or words that share
// letters ("chart", "charts"). A synonym is as far away as any other word.
//
// Equal texts get equal vectors, bit for bit, on every machine and in every version. The golden values
// of its test check this. So it uses only integer arithmetic and operations that IEEE 754 rounds
// exactly (+, ×, ÷, sqrt, but no logarithm). Any change of the results needs a new model name.
//
// 1. The text is brought to NFKC and lower case, both by Unicode's locale-free rules.
// 2. Runs are the longest stretches of letters and digits, with the marks on them; a symbol, such
//    as an emoji, is a run of its own. In a text without any run, each part between white space is
//    one.
// 3. Features of a run, characters being code points:
//    - the whole run as a word; where ideographs or hiragana are in it, each of these as a word
//      instead, because such writing has no spaces, and each two neighbours as a pair;
//    - its grams: every 3 and 4 neighbouring characters, with a mark before and after the run.
// 4. A feature is hashed to 32 bits. Its bucket is the product of the upper 31 bits with the number
//    of dimensions: 384, or fewer on request. (Leading numbers of a longer vector would not do,
//    because features are spread evenly.) Its sign is the lowest bit. Its weight is the weight of its
//    kind times the square root of its count.
// 5. The sums are divided by their L2 norm.

import { StepMeter, runAtOnce } from '../../../lib/sliced.ts'
import type { Sliced } from '../../../lib/sliced.ts'

export const BUILTIN_HASH_NAME = 'builtin-hash'
export const BUILTIN_HASH_DIMENSIONS = 384
/** Later characters are ignored: each may add two features, which are all kept in memory. */
export const BUILTIN_HASH_CHARS_MAX = 1024 * 1024

/** This many characters of a run are hashed in about a millisecond. */
const CHARS_PER_STEP = 4_096

/**
 * Matches the start and the rest of a run. A run may be as long as the text, so it is matched in
 * parts.
 */
interface RunPattern {
  readonly start: RegExp
  readonly more: RegExp
}
const START_LENGTH = 64
const RUN: RunPattern = {
  start: /[\p{L}\p{N}][\p{L}\p{M}\p{N}]{0,63}|\p{S}/gu,
  more: /[\p{L}\p{M}\p{N}]{1,4096}/uy,
}
const VISIBLE: RunPattern = { start: /\S{1,64}/gu, more: /\S{1,4096}/uy }
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}]/u

const GRAM_LENGTHS: readonly number[] = [3, 4]
/** The mark before and after a run. No character has this code point. */
const BOUNDARY = 0x11_00_00

/** A word has about eight grams, which together weigh about as much as the word itself. */
const WEIGHTS = { word: 1, pair: 1, gram: 0.375 } as const
type FeatureKind = keyof typeof WEIGHTS

/** Each kind has its own seed, so that the word "cat" and the gram "cat" differ. */
const SEEDS: Readonly<Record<FeatureKind, number>> = {
  word: 0x2545f491,
  pair: 0x6c078965,
  gram: 0x5bd1e995,
}

type FeatureCounts = Readonly<Record<FeatureKind, Map<number, number>>>

/** The same as `hashEmbeddingInSteps`, at once. */
export function hashEmbedding(text: string, dimensions = BUILTIN_HASH_DIMENSIONS): Float32Array {
  return runAtOnce(hashEmbeddingInSteps(text, dimensions))
}

/**
 * A vector of length 1. It is all zeros when the text has no visible character, or when its
 * features cancel each other.
 */
export function* hashEmbeddingInSteps(text: string, dimensions: number): Sliced<Float32Array> {
  const meter = new StepMeter(CHARS_PER_STEP)
  const counts: FeatureCounts = { word: new Map(), pair: new Map(), gram: new Map() }
  const normal = text.slice(0, BUILTIN_HASH_CHARS_MAX).normalize('NFKC')
  yield undefined
  const folded = normal.toLowerCase()
  yield undefined
  const pattern = folded.search(RUN.start) < 0 ? VISIBLE : RUN
  const start = new RegExp(pattern.start)
  for (let found = start.exec(folded); found !== null; found = start.exec(folded)) {
    if (meter.spend(1)) yield undefined
    start.lastIndex = yield* endOfRun(folded, found, pattern.more)
    const run = folded.slice(found.index, start.lastIndex)
    yield* countFeatures(run, { counts, meter })
  }
  const sums = new Float64Array(dimensions)
  yield* addFeatures(sums, counts.word, WEIGHTS.word)
  yield* addFeatures(sums, counts.pair, WEIGHTS.pair)
  yield* addFeatures(sums, counts.gram, WEIGHTS.gram)
  return normalise(sums)
}

function* endOfRun(
  text: string,
  { index, 0: start }: RegExpExecArray,
  more: RegExp,
): Sliced<number> {
  let end = index + start.length
  if (start.length < START_LENGTH) return end
  const part = new RegExp(more)
  for (part.lastIndex = end; part.test(text); end = part.lastIndex) yield undefined
  return end
}

interface Counting {
  readonly counts: FeatureCounts
  readonly meter: StepMeter
}

function* countFeatures(run: string, counting: Counting): Sliced<void> {
  const { counts, meter } = counting
  const points = [BOUNDARY]
  for (const character of run) {
    points.push(character.codePointAt(0) ?? 0)
    if (meter.spend(1)) yield undefined
  }
  points.push(BOUNDARY)
  if (UNSPACED.test(run)) yield* countUnspacedWords(run, points, counting)
  else count(counts.word, hashPoints(SEEDS.word, points, { from: 1, to: points.length - 1 }))
  for (const length of GRAM_LENGTHS) {
    for (let from = 0; from + length <= points.length; from += 1) {
      count(counts.gram, hashPoints(SEEDS.gram, points, { from, to: from + length }))
      if (meter.spend(1)) yield undefined
    }
  }
}

/**
 * Counts ideographs and hiragana as words and pairs. Other letters between them, such as katakana,
 * are covered by their grams.
 */
function* countUnspacedWords(
  run: string,
  points: readonly number[],
  { counts, meter }: Counting,
): Sliced<void> {
  let at = 0
  for (const character of run) {
    at += 1
    if (meter.spend(1)) yield undefined
    if (!UNSPACED.test(character)) continue
    count(counts.word, hashPoints(SEEDS.word, points, { from: at, to: at + 1 }))
    if (at + 2 < points.length) {
      count(counts.pair, hashPoints(SEEDS.pair, points, { from: at, to: at + 2 }))
    }
  }
}

function count(counts: Map<number, number>, hash: number): void {
  counts.set(hash, (counts.get(hash) ?? 0) + 1)
}

/** One multiplication for each code point, then the finaliser of MurmurHash3 for 32 bits. */
function hashPoints(
  seed: number,
  points: readonly number[],
  { from, to }: { readonly from: number; readonly to: number },
): number {
  let hash = seed
  for (let at = from; at < to; at += 1) {
    hash = Math.imul(hash ^ (points[at] ?? 0), 0x9e3779b1)
    hash ^= hash >>> 15
  }
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}

function* addFeatures(
  sums: Float64Array,
  counts: ReadonlyMap<number, number>,
  kindWeight: number,
): Sliced<void> {
  const meter = new StepMeter(CHARS_PER_STEP)
  for (const [hash, times] of counts) {
    const bucket = Math.floor(((hash >>> 1) * sums.length) / 2 ** 31)
    const weight = kindWeight * Math.sqrt(times)
    sums[bucket] = (sums[bucket] ?? 0) + ((hash & 1) === 0 ? weight : -weight)
    if (meter.spend(1)) yield undefined
  }
}

function normalise(sums: Float64Array): Float32Array {
  const vector = new Float32Array(sums.length)
  let squares = 0
  for (const sum of sums) squares += sum * sum
  if (squares === 0) return vector
  const norm = Math.sqrt(squares)
  for (let at = 0; at < sums.length; at += 1) vector[at] = (sums[at] ?? 0) / norm
  return vector
}
