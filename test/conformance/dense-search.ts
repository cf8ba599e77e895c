// What every engine promises of searches by every metric with every quantization, with graphs and lists and without: the
// nearest are found, whatever lengths, origin and unit the vectors have.

import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { seededRandom, type Random } from '../../lib/random.ts'
import {
  METRICS,
  QUANTIZATIONS,
  type DenseIndexSettings,
  type Metric,
  type Quantization,
  type VectorEngine,
} from '../../node/embedding/settings.ts'
import { whyUnavailable } from '../../node/index/vector/graph/graph-libraries.ts'
import { defaultRowsIndexLimits } from '../../node/index/rows/row-segments.ts'
import { putVectors } from '../support/worlds/vector-documents.ts'
import { PLAIN_DISTANCES, VectorWorld } from '../support/worlds/vector-world.ts'

const DIMENSION = 24
const DOCUMENTS = 720
const WRITTEN_TOGETHER = 180
const QUERIES = 40
/** Where syncs cost nothing, if there is such a place. */
const PLACE = existsSync('/dev/shm') ? '/dev/shm' : tmpdir()
const LIMIT = 10
const SEED = 41

type MakeVector = (n: number) => Float32Array

/** Vectors as models and users make them: of one length, and of very different ones, far from the origin, in any unit. */
const VECTORS: Readonly<Record<string, (random: Random) => MakeVector>> = {
  'about one length': (random) => () => normal(random, 1),
  'lengths from a hundredth to a hundred': (random) => () => {
    return normal(random, 10 ** (random() * 4 - 2))
  },
  'an origin far away': (random) => () => normal(random, 1).map((value) => value + 100),
  'another origin for each number': (random) => () => {
    return normal(random, 1).map((value, i) => value + 1000 * (i % 3))
  },
  'tiny numbers': (random) => () => normal(random, 1e-6),
  'huge numbers': (random) => () => normal(random, 1e6),
  'a few that are a thousand times as long': (random) => (n) => {
    return normal(random, n % 300 === 7 ? 1000 : 1)
  },
  'topics that are far apart': (random) => {
    const centers = Array.from({ length: 16 }, () => normal(random, 100))
    return (n) => normal(random, 1).map((value, i) => value + (centers[n % 16]?.[i] ?? 0))
  },
  'a unit that grows while they are written': (random) => (n) => {
    return normal(random, 1 + Math.floor(n / WRITTEN_TOGETHER) ** 4)
  },
  'few different values': (random) => () => {
    return normal(random, 1).map((value) => Math.round(value))
  },
}

/** Graphs and lists of some hundred rows, which are extended; lists alone; or neither. */
const SHAPES = {
  'graphs and lists': { graphs: 150, lists: 64, recallMin: 0.95 },
  'lists alone': { graphs: Infinity, lists: 64, recallMin: 0.9 },
  'neither graphs nor lists': { graphs: Infinity, lists: Infinity, recallMin: 1 },
} as const

export function describeDenseSearch(engine: VectorEngine): void {
  describe(`the nearest by the engine ${engine} (seed ${SEED})`, function () {
    this.timeout(120_000)

    for (const { metric, quantization, shape } of casesOf(engine)) {
      it(`are found by ${metric} in ${quantization} with ${shape}`, () => {
        const settings = { dimension: DIMENSION, metric, engine, quantization }
        for (const [name, makerOf] of Object.entries(VECTORS)) {
          const make = makerOf(seededRandom(SEED))
          const { recallMin } = SHAPES[shape]
          expect(recallOf(settings, SHAPES[shape], make), name).to.be.at.least(recallMin)
        }
      })
    }
  })
}

interface SearchedCase {
  readonly metric: Metric
  readonly quantization: Quantization
  readonly shape: keyof typeof SHAPES
}

function casesOf(engine: VectorEngine): readonly SearchedCase[] {
  const possible = QUANTIZATIONS.filter((quantization) => {
    return whyUnavailable({ engine, quantization }) === undefined
  })
  const all = possible.flatMap((quantization) => {
    return METRICS.flatMap((metric) => {
      const graphs = { metric, quantization, shape: 'graphs and lists' } as const
      const lists = { metric, quantization, shape: 'lists alone' } as const
      return [graphs, lists, { metric, quantization, shape: 'neither graphs nor lists' } as const]
    })
  })
  return all.filter(({ shape, quantization }) => {
    if (shape === 'graphs and lists') return engine !== 'exact'
    // The numbers of graphs are not those of lists.
    return shape !== 'lists alone' || quantization === 'f16'
  })
}

function recallOf(
  settings: DenseIndexSettings,
  rows: { readonly graphs: number; readonly lists: number },
  make: MakeVector,
): number {
  const vectors = Array.from({ length: DOCUMENTS }, (_, n) => make(n))
  const queries = Array.from({ length: QUERIES }, (_, n) => make((n * 131) % DOCUMENTS))
  const directory = mkdtempSync(path.join(PLACE, 'quarry-nearest-'))
  try {
    using world = new VectorWorld({ settings, directory, limits: limitsOf(rows) })
    for (const [n, vector] of vectors.entries()) {
      world.apply(putVectors({ key: `k${n}`, ordinal: n, rows: [{ vector }] }))
      if ((n + 1) % WRITTEN_TOGETHER === 0) world.settle()
    }
    const isGraph = settings.engine !== 'exact' && rows.graphs < Infinity
    expect(readFileSync(path.join(directory, 'manifest'), 'utf8').includes('"graph"')).to.equal(
      isGraph,
    )
    return shareFound(world, settings, { vectors, queries })
  } finally {
    rmSync(directory, { recursive: true, force: true })
  }
}

function shareFound(
  world: VectorWorld,
  { metric }: DenseIndexSettings,
  { vectors, queries }: Readonly<Record<'vectors' | 'queries', readonly Float32Array[]>>,
): number {
  let found = 0
  for (const query of queries) {
    const distances = vectors.map((vector) => PLAIN_DISTANCES[metric](query, vector))
    // Vectors may be equally near.
    const bar = distances.toSorted((a, b) => a - b)[LIMIT - 1] ?? 0
    const { hits } = world.nearest(query, { limit: LIMIT })
    found += hits.filter(({ ordinal }) => (distances[ordinal] ?? Infinity) <= bar).length
  }
  return found / (queries.length * LIMIT)
}

function limitsOf({ graphs, lists }: { readonly graphs: number; readonly lists: number }) {
  const mergePolicy = {
    ...defaultRowsIndexLimits.mergePolicy,
    graphRowsMin: graphs,
    settledGraphRowsMin: graphs,
    listedRowsMin: lists,
    extendedRatio: 0.25,
    settledRatio: 0.01,
  }
  return { ...defaultRowsIndexLimits, tailRowsMax: WRITTEN_TOGETHER, mergePolicy }
}

/** Box and Muller. */
function normal(random: Random, deviation: number): Float32Array {
  return Float32Array.from({ length: DIMENSION }, () => {
    const radius = Math.sqrt(-2 * Math.log(1 - random()))
    return deviation * radius * Math.cos(2 * Math.PI * random())
  })
}
