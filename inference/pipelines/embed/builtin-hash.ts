// The embedder that needs no model: feature hashing of words and character n-grams.
//
// It is lexical, not semantic. Texts are near when they share words, or words that share letters
// ("chart", "charts"); a synonym is as far away as any other word.
//
// Equal texts get equal vectors, bit for bit, on every machine and forever; the golden values in
// its test hold this. So only integer arithmetic and operations that IEEE 754 rounds exactly are
// used (+, ×, ÷, sqrt, but no logarithm). A change here is a new model and needs a new name.
//
// 1. The text is brought to NFKC and lower case, both by Unicode's locale-free rules.
// 2. Runs are the longest stretches of letters and digits, with the marks on them; a symbol, such
//    as an emoji, is a run of its own. In a text without any run, whatever stands between white
//    space is one.
// 3. Features of a run, characters being code points:
//    - the whole run as a word; where ideographs or hiragana are in it, each of these as a word
//      instead, because such writing has no spaces, and each two neighbours as a pair;
//    - its grams: every 3 and 4 neighbouring characters, with a mark before and after the run.
// 4. A feature is hashed to 32 bits. Its bucket is the product of the upper 31 bits with the number
//    of dimensions, 384 unless fewer are asked for: leading numbers of a hash would say nothing.
//    Its sign is the lowest bit, and its weight that of its kind times the square root of its count.
// 5. The sums are divided by their L2 norm.

export const BUILTIN_HASH_NAME = 'builtin-hash'
export const BUILTIN_HASH_DIMENSIONS = 384

const RUN = /[\p{L}\p{N}][\p{L}\p{M}\p{N}]*|\p{S}/gu
const UNSPACED = /[\p{Script=Han}\p{Script=Hiragana}]/u
const VISIBLE = /\S+/gu

const GRAM_LENGTHS: readonly number[] = [3, 4]
/** Stands before and after a run; no character has this number. */
const BOUNDARY = 0x11_00_00

/** A word has about eight grams: they weigh together about as much as the word itself. */
const WEIGHTS = { word: 1, pair: 1, gram: 0.375 } as const
type FeatureKind = keyof typeof WEIGHTS

/** Where the hash of each kind begins, so that the word "cat" and the gram "cat" are apart. */
const SEEDS: Readonly<Record<FeatureKind, number>> = {
  word: 0x2545f491,
  pair: 0x6c078965,
  gram: 0x5bd1e995,
}

type FeatureCounts = Readonly<Record<FeatureKind, Map<number, number>>>

/** A vector of length 1; of zeros when the text has no visible character, or its features cancel. */
export function hashEmbedding(text: string, dimensions = BUILTIN_HASH_DIMENSIONS): Float32Array {
  const counts: FeatureCounts = { word: new Map(), pair: new Map(), gram: new Map() }
  const folded = text.normalize('NFKC').toLowerCase()
  for (const run of folded.match(RUN) ?? folded.match(VISIBLE) ?? []) countFeatures(run, counts)
  const sums = new Float64Array(dimensions)
  addFeatures(sums, counts.word, WEIGHTS.word)
  addFeatures(sums, counts.pair, WEIGHTS.pair)
  addFeatures(sums, counts.gram, WEIGHTS.gram)
  return normalise(sums)
}

function countFeatures(run: string, counts: FeatureCounts): void {
  const points = [BOUNDARY]
  for (const character of run) points.push(character.codePointAt(0) ?? 0)
  points.push(BOUNDARY)
  if (UNSPACED.test(run)) countUnspacedWords(run, points, counts)
  else count(counts.word, hashPoints(SEEDS.word, points, { from: 1, to: points.length - 1 }))
  for (const length of GRAM_LENGTHS) {
    for (let from = 0; from + length <= points.length; from += 1) {
      count(counts.gram, hashPoints(SEEDS.gram, points, { from, to: from + length }))
    }
  }
}

/** Other letters between ideographs, such as katakana, are found by their grams. */
function countUnspacedWords(run: string, points: readonly number[], counts: FeatureCounts): void {
  let at = 0
  for (const character of run) {
    at += 1
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

/** One multiplication for each code point; the end is the finaliser of MurmurHash3 for 32 bits. */
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

function addFeatures(
  sums: Float64Array,
  counts: ReadonlyMap<number, number>,
  kindWeight: number,
): void {
  for (const [hash, times] of counts) {
    const bucket = Math.floor(((hash >>> 1) * sums.length) / 2 ** 31)
    const weight = kindWeight * Math.sqrt(times)
    sums[bucket] = (sums[bucket] ?? 0) + ((hash & 1) === 0 ? weight : -weight)
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
