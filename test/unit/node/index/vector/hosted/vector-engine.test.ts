import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { defaultRowsIndexLimits } from '../../../../../../node/index/rows/row-segments.ts'
import { BUILDS_HERE } from '../../../../../../node/index/vector/building/graph-job.ts'
import { whyUnavailable } from '../../../../../../node/index/vector/graph/graph-libraries.ts'
import { openVectorFamily } from '../../../../../../node/index/vector/hosted/vector-family.ts'
import { describeIndexEngine } from '../../../../../conformance/index-engine.ts'
import {
  keysOfHits,
  nearestTo,
  putVectors,
  recordedSettings,
  vectorOfWords,
  WORDS_DIMENSION,
} from '../../../../../support/worlds/vector-documents.ts'

const FORMS: Readonly<Record<string, Pick<DenseIndexSettings, 'engine' | 'quantization'>>> = {
  'exact vectors': { engine: 'exact', quantization: 'f32' },
  'vectors in graphs of f32': { engine: 'usearch', quantization: 'f32' },
  'vectors in graphs of f16': { engine: 'usearch', quantization: 'f16' },
  'vectors in graphs of i8': { engine: 'usearch', quantization: 'i8' },
  'vectors in graphs of faiss, f32': { engine: 'faiss', quantization: 'f32' },
  'vectors in graphs of faiss, f16': { engine: 'faiss', quantization: 'f16' },
  'vectors in graphs of faiss, i8': { engine: 'faiss', quantization: 'i8' },
}

/** Every segment has a graph, and soon there are several to merge. */
const SMALL = {
  ...defaultRowsIndexLimits,
  mergePolicy: {
    graphRowsMin: 1,
    settledGraphRowsMin: 1,
    tierCount: 2,
    listedRowsMin: 64,
    rowsMax: 100_000,
    deletedRatioMax: 0.2,
    extendedRatio: 0.5,
    settledRatio: 0.1,
  },
}

const SHAPE = { dimension: WORDS_DIMENSION, metric: 'inner_product' } as const
/** The library of faiss is built on some machines alone. */
const here = Object.entries(FORMS).filter(([, form]) => {
  return whyUnavailable({ ...SHAPE, ...form }) === undefined
})

for (const [name, form] of here) {
  const ordinals = new Map<string, number>()
  describeIndexEngine(name, {
    kind: 'vectors',
    openFamily: (disk) =>
      openVectorFamily(
        { clock: new ManualClock(), memoryBytesMax: 2 ** 20, disk },
        { limits: SMALL, builder: BUILDS_HERE },
      ),
    settings: recordedSettings({ ...SHAPE, ...form }),
    change(key, text) {
      const ordinal = ordinals.get(key) ?? ordinals.size
      ordinals.set(key, ordinal)
      return putVectors({ key, ordinal, rows: [{ vector: vectorOfWords(text) }] })
    },
    merges: true,
    answers: ['nearest'],
    find: (word) => nearestTo(vectorOfWords(word), { limit: 1000, distanceUnder: -0.5 }),
    keysOf: keysOfHits,
    isVital: () => true,
  })
}

describe('an engine of vectors', () => {
  it('says what it has no graphs of', () => {
    const settings = { ...SHAPE, engine: 'faiss', quantization: 'binary' } as const

    expect(whyUnavailable(settings)).to.include('no graphs of binary vectors')
    expect(whyUnavailable({ ...settings, engine: 'usearch' })).to.equal(undefined)
  })
})
