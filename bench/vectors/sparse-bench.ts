// Queries for sparse vectors, against a comparison with every one of them, in one process and one thread.

import path from 'node:path'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom, type Random } from '../../lib/random.ts'
import { runAtOnce } from '../../lib/sliced.ts'
import { encodeArtifact } from '../../node/embedding/artifact.ts'
import { DISK_WORK_HERE } from '../../node/index/files/disk-work.ts'
import { packBatch } from '../../node/index/host/document-batch.ts'
import type { IndexEngine } from '../../node/index/host/index-engine.ts'
import { openSparseFamily } from '../../node/index/sparse/hosted/sparse-family.ts'
import type { SparseVector } from '../../node/index/vector/vector-search.ts'
import type { RowResult } from '../report/finding.ts'
import type { Bench } from '../suite.ts'

const DOCUMENTS = 100_000
const DOCUMENTS_QUICK = 20_000
const BATCH_DOCUMENTS = 500
const QUERIES = 50
const LIMIT = 10
/** As a model of sparse vectors has them: the words that it knows, those of a text, those of a question. */
const VOCABULARY = 30_000
const TERMS_EACH = 100
const TERMS_ASKED = 25
const MEMORY_BYTES = 512 * 2 ** 20

/** The times of both sides, of the same queries in turns; their hits have to be the same. */
export function sparseRow(bench: Bench): RowResult {
  const count = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  const random = seededRandom(bench.seed)
  const vectors = Array.from({ length: count }, () => randomVector(random, TERMS_EACH))
  bench.progress(`writing ${count} sparse vectors`)
  const engine = openEngine(path.join(bench.directory, 'sparse'))
  const beganMs = bench.clock.monotonicMs()
  write(engine, vectors)
  const writtenMs = bench.clock.monotonicMs() - beganMs
  const { bytesOnDisk, bytesInMemory } = engine.report()
  const ours: number[] = []
  const peer: number[] = []
  for (let i = 0; i < QUERIES; i += 1) {
    const query = randomVector(random, TERMS_ASKED)
    const fromMs = bench.clock.monotonicMs()
    const found = nearest(engine, query)
    const betweenMs = bench.clock.monotonicMs()
    const expected = comparedWithAll(vectors, query)
    ours.push(1000 / (betweenMs - fromMs))
    peer.push(1000 / (bench.clock.monotonicMs() - betweenMs))
    if (found.join() !== expected.join()) throw new Error('the hits are not those of a comparison')
  }
  engine.close()
  return {
    findings: [
      {
        kind: 'ratio',
        label: `top ${LIMIT} of ${count} sparse vectors, exact`,
        unit: 'queries/s',
        peerName: 'comparison with all',
        ours,
        peer,
        goal: { kind: 'at-least', value: 2 },
      },
    ],
    notes: [
      `${Math.round((count / writtenMs) * 1000)} vectors of ${TERMS_EACH} terms written, flushed and merged in a second`,
      `${Math.round(bytesOnDisk / count)} bytes on disk and ${Math.round(bytesInMemory / count)} in memory for a vector`,
    ],
  }
}

function openEngine(directory: string): IndexEngine {
  const settings = { external: true, sparse: true, minWeight: 0, chunkSize: 1024 }
  const definition = { id: '0'.repeat(16), kind: 'vectors', name: 'b', memOnly: false, settings }
  const source = { kind: 'given', schema: undefined } as const
  const family = openSparseFamily({
    clock: systemClock,
    memoryBytesMax: MEMORY_BYTES,
    disk: DISK_WORK_HERE,
  })
  const opened = runAtOnce(family.open({ definition, directory, source, fields: [] }))
  if (opened.kind === 'outdated') throw new Error(opened.outdated.reason)
  return opened.engine
}

function write(engine: IndexEngine, vectors: readonly SparseVector[]): void {
  for (let from = 0; from < vectors.length; from += BATCH_DOCUMENTS) {
    const changes = vectors.slice(from, from + BATCH_DOCUMENTS).map((vector, i) => {
      const ordinal = from + i
      const rows = [{ start: 0, end: 0, ...vector }]
      const json = encodeArtifact({ kind: 'sparse', ordinal, sourceHash: undefined, rows })
      return { key: Buffer.from(`k${ordinal}`), json, expiresAtMs: 0, ordinal }
    })
    runAtOnce(engine.apply(packBatch(from + changes.length, changes), () => undefined))
    while (engine.maintain());
  }
  runAtOnce(engine.flush(vectors.length))
  while (engine.maintain());
}

function nearest(engine: IndexEngine, vector: SparseVector): readonly number[] {
  const request = { vector, limit: LIMIT, nowMs: 0 }
  const { ordinals } = Object(runAtOnce(engine.answer({ question: 'nearest', request })))
  return [...ordinals]
}

function comparedWithAll(vectors: readonly SparseVector[], query: SparseVector): readonly number[] {
  const weights = new Float32Array(VOCABULARY)
  for (const [at, term] of query.terms.entries()) weights[term] = query.weights[at] ?? 0
  const found: { ordinal: number; product: number }[] = []
  for (const [ordinal, { terms, weights: own }] of vectors.entries()) {
    const product = productOf(weights, { terms, weights: own })
    if (found.length === LIMIT && product <= (found.at(-1)?.product ?? 0)) continue
    found.push({ ordinal, product })
    found.sort((a, b) => b.product - a.product)
    if (found.length > LIMIT) found.pop()
  }
  return found.map(({ ordinal }) => ordinal)
}

/** Σab, the first by term. */
function productOf(byTerm: Float32Array, { terms, weights }: SparseVector): number {
  let product = 0
  for (let i = 0; i < terms.length; i += 1) {
    product += (byTerm[terms[i] ?? 0] ?? 0) * (weights[i] ?? 0)
  }
  return product
}

/** Few terms are frequent, most are rare, and most weights are small. */
function randomVector(random: Random, count: number): SparseVector {
  const weights = new Map<number, number>()
  for (let i = 0; i < count; i += 1) {
    weights.set(Math.floor(VOCABULARY * random() ** 3), 0.01 + 3 * random() ** 4)
  }
  const terms = [...weights.keys()].toSorted((a, b) => a - b)
  return {
    terms: Uint32Array.from(terms),
    weights: Float32Array.from(terms, (term) => weights.get(term) ?? 0),
  }
}
