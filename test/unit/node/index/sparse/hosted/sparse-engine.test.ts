import { ManualClock } from '../../../../../../lib/clock.ts'
import { openSparseFamily } from '../../../../../../node/index/sparse/hosted/sparse-family.ts'
import { describeIndexEngine } from '../../../../../conformance/index-engine.ts'
import { keysOfHits } from '../../../../../support/worlds/vector-documents.ts'
import {
  putSparse,
  recordedSparse,
  SMALL_SPARSE_LIMITS,
  sparse,
  sparseNearestTo,
  SPARSE_SETTINGS,
} from '../../../../../support/worlds/sparse-world.ts'

const WORDS = ['tide', 'road', 'none', 'other']
const vectorOf = (text: string) =>
  sparse(Object.fromEntries(text.split(' ').map((word) => [WORDS.indexOf(word) + 1, 1])))

for (const chunkSize of [64, 1024]) {
  const ordinals = new Map<string, number>()
  describeIndexEngine(`sparse vectors in chunks of ${chunkSize}`, {
    kind: 'vectors',
    openFamily: (disk) =>
      openSparseFamily(
        { clock: new ManualClock(), memoryBytesMax: 2 ** 20, disk },
        SMALL_SPARSE_LIMITS,
      ),
    settings: recordedSparse({ ...SPARSE_SETTINGS, chunkSize }),
    change(key, text) {
      const ordinal = ordinals.get(key) ?? ordinals.size
      ordinals.set(key, ordinal)
      return putSparse({ key, ordinal, vectors: [vectorOf(text.trim())] })
    },
    merges: true,
    answers: ['nearest'],
    find: (word) => sparseNearestTo(vectorOf(word), { limit: 1000 }),
    keysOf: (answer) => keysOfHits(Object(answer)),
    isVital: () => true,
  })
}
