// How fast the text engine is on its own: `node bench/text/engine-bench.ts [documents]`.
// A seeded corpus with a Zipf vocabulary, in a temporary directory that is removed again.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import type { EngineQuery } from '../../node/index/text/engine-query.ts'
import type { IndexableDocument } from '../../node/index/text/indexable-document.ts'
import { TextIndex } from '../../node/index/text/engine/text-index.ts'
import { percentile, Samples } from '../statistics.ts'

const VOCABULARY = 120_000
const BATCH = 500
const QUERIES = 300
const TOKENS_MIN = 60
const TOKENS_MAX = 100

/** Words by rank, the frequency falling with the rank, and about as long as English ones. */
class ZipfWords {
  readonly #sums = new Float64Array(VOCABULARY)
  readonly words: readonly string[]
  readonly #random: Random

  constructor(random: Random) {
    this.#random = random
    let sum = 0
    for (let rank = 0; rank < VOCABULARY; rank += 1) {
      sum += 1 / (rank + 2.7)
      this.#sums[rank] = sum
    }
    this.words = Array.from({ length: VOCABULARY }, (_, rank) => wordOf(rank))
  }

  rank(): number {
    const target = this.#random() * (this.#sums[VOCABULARY - 1] ?? 0)
    let low = 0
    let high = VOCABULARY - 1
    while (low < high) {
      const middle = (low + high) >>> 1
      if ((this.#sums[middle] ?? 0) < target) low = middle + 1
      else high = middle
    }
    return low
  }
}

function wordOf(rank: number): string {
  const mixed = Math.imul(rank + 1, 0x9e3779b1) >>> 0
  return `${rank.toString(36)}${mixed.toString(36)}`.slice(0, 3 + (mixed % 7) + 2)
}

function documentOf(words: ZipfWords, random: Random, number: number): IndexableDocument {
  const length = TOKENS_MIN + Math.floor(random() * (TOKENS_MAX - TOKENS_MIN))
  const tokens = Array.from({ length }, (_, position) => ({
    term: words.words[words.rank()] ?? '',
    position,
  }))
  return {
    key: Buffer.from(`document-${number.toString().padStart(9, '0')}`),
    expiresAtMs: 0,
    fields: [{ kind: 'text', name: 'body', tokens, length }],
  }
}

const term = (words: ZipfWords, rank: number): EngineQuery => ({
  kind: 'term',
  field: 'body',
  term: words.words[rank] ?? '',
  boost: 1,
})

function combine(kind: 'must' | 'should', parts: readonly EngineQuery[]): EngineQuery {
  const none = { must: [], should: [], minShould: 0, mustNot: [], filter: [] }
  return { kind: 'boolean', ...none, [kind]: parts, boost: 1 }
}

function queriesOf(words: ZipfWords, random: Random): Record<string, () => EngineQuery> {
  const between = (from: number, to: number): number => from + Math.floor(random() * (to - from))
  const two = (): EngineQuery[] =>
    Array.from({ length: 2 + between(0, 2) }, () => term(words, words.rank()))
  const phrase = (): EngineQuery => ({
    kind: 'phrase',
    field: 'body',
    positions: [0, 1].map((offset) => ({ offset, terms: [words.words[words.rank()] ?? ''] })),
    slop: 0,
    boost: 1,
  })
  return {
    'rare term': () => term(words, between(20_000, 100_000)),
    'mid term': () => term(words, between(500, 5000)),
    'frequent term': () => term(words, between(0, 50)),
    'OR of 2-3': () => combine('should', two()),
    'AND of 2-3': () => combine('must', two()),
    'OR of frequent': () =>
      combine('should', [term(words, between(0, 50)), term(words, between(0, 50))]),
    phrase,
  }
}

function measure(index: TextIndex, make: () => EngineQuery): string {
  const samples = new Samples()
  let sum = 0
  for (let i = 0; i < QUERIES * 2; i += 1) {
    const query = make()
    const startMs = systemClock.monotonicMs()
    index.search({ query, limit: 10, countTotal: false, nowMs: 1, interrupt: () => undefined })
    const tookMs = systemClock.monotonicMs() - startMs
    if (i < QUERIES) continue
    samples.add(tookMs)
    sum += tookMs
  }
  const sorted = samples.sorted()
  const figures = [sum / QUERIES, percentile(sorted, 0.5), percentile(sorted, 0.99)]
  return figures.map((ms) => ms.toFixed(3).padStart(9)).join('')
}

function textBytesOf({ fields }: IndexableDocument): number {
  const tokens = fields.flatMap((field) => (field.kind === 'text' ? field.tokens : []))
  return tokens.reduce((sum, { term: text }) => sum + text.length + 1, 0)
}

function ingest(index: TextIndex, words: ZipfWords, random: Random): string[] {
  let textBytes = 0
  let ingestMs = 0
  let stallMs = 0
  const stepMs = new Samples()
  for (let from = 0; from < documents; from += BATCH) {
    const upserts = Array.from({ length: BATCH }, (_, i) => documentOf(words, random, from + i))
    for (const document of upserts) textBytes += textBytesOf(document)
    const startMs = systemClock.monotonicMs()
    index.apply({ sequence: from + BATCH, upserts, deletes: [] })
    const appliedMs = systemClock.monotonicMs()
    index.maintain(20)
    const endMs = systemClock.monotonicMs()
    stallMs = Math.max(stallMs, appliedMs - startMs)
    ingestMs += endMs - startMs
  }
  const startMs = systemClock.monotonicMs()
  index.flush()
  for (let isBusy = true; isBusy;) {
    const beginMs = systemClock.monotonicMs()
    isBusy = index.maintain(2)
    stepMs.add(systemClock.monotonicMs() - beginMs)
  }
  ingestMs += systemClock.monotonicMs() - startMs
  const { bytesOnDisk, bytesInMemory, segments } = index.stats()
  const steps = stepMs.sorted()
  return [
    `ingest      ${Math.round(documents / (ingestMs / 1000))} documents/s, merges included`,
    `disk/text   ${(bytesOnDisk / textBytes).toFixed(3)} of ${(textBytes / 2 ** 20).toFixed(0)} MiB`,
    `segments    ${segments}, ${(bytesInMemory / 2 ** 20).toFixed(1)} MiB in memory`,
    `longest     apply ${stallMs.toFixed(1)} ms; maintain(2) p99 ` +
      `${percentile(steps, 0.99).toFixed(1)} ms, longest ${percentile(steps, 1).toFixed(1)} ms`,
  ]
}

const documents = Number(process.argv[2] ?? 200_000)
const directory = mkdtempSync(path.join(tmpdir(), 'text-bench-'))
try {
  const random = seededRandom(42)
  const words = new ZipfWords(random)
  const index = TextIndex.open({ directory, clock: systemClock })
  const lines = ingest(index, words, random)
  lines.push('', `${'top 10, ms'.padEnd(18)}     mean      p50      p99`)
  for (const [name, make] of Object.entries(queriesOf(words, random))) {
    lines.push(name.padEnd(18) + measure(index, make))
  }
  index.close()
  process.stdout.write(`${lines.join('\n')}\n`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
