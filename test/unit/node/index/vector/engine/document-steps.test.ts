// A document of thousands of chunks holds a worker no longer than one of a single chunk.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import { seededRandom } from '../../../../../../lib/random.ts'
import { runAtOnce, type Paced } from '../../../../../../lib/sliced.ts'
import { encodeArtifact } from '../../../../../../node/embedding/artifact.ts'
import type { DenseIndexSettings } from '../../../../../../node/embedding/settings.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import { packBatch, type DocumentChange } from '../../../../../../node/index/host/document-batch.ts'
import { BUILDS_HERE } from '../../../../../../node/index/vector/building/graph-job.ts'
import { openVectorFamily } from '../../../../../../node/index/vector/hosted/vector-family.ts'
import { longestStepAtBestMs } from '../../../../../support/slices/step-time.ts'
import { nearestTo, recordedSettings } from '../../../../../support/worlds/vector-documents.ts'

const ROWS = 10_000
const DIMENSION = 384
/** A millisecond is what steps are for; machines are slow at times. */
const STEP_MS_MAX = 12
const SETTINGS: DenseIndexSettings = {
  dimension: DIMENSION,
  metric: 'l2_squared',
  engine: 'exact',
  quantization: 'i8',
}

const random = seededRandom(7)
const some = (): Float32Array => Float32Array.from({ length: DIMENSION }, () => random() - 0.5)

function longDocument(): DocumentChange {
  const vectors = Array.from({ length: 16 }, some)
  const rows = Array.from({ length: ROWS }, (_, i) => {
    return { start: i * 100, end: i * 100 + 120, vector: vectors[i % 16] ?? some() }
  })
  const texts = { chunks: rows.map((_, i) => `${i} ${'chunk '.repeat(60)}`) }
  const head = { kind: 'dense', ordinal: 1, sourceHash: undefined, texts } as const
  const json = encodeArtifact({ ...head, dimension: DIMENSION, rows })
  return { key: Buffer.from('long'), json, expiresAtMs: 0, ordinal: 1 }
}

describe('a document of thousands of chunks', () => {
  let root = ''

  before(() => {
    root = mkdtempSync(path.join(tmpdir(), 'quarry-rows-'))
  })

  after(() => rmSync(root, { recursive: true, force: true }))

  it('is written, flushed and searched in short steps', () => {
    const parts = { clock: new ManualClock(), memoryBytesMax: 2 ** 30, disk: DISK_WORK_HERE }
    const family = openVectorFamily(parts, { builder: BUILDS_HERE })
    const batch = packBatch(1, [longDocument()])
    let count = 0

    function* life(): Paced<void> {
      count += 1
      const definition = {
        id: '0123456789abcdef',
        kind: 'vectors',
        name: 'long',
        memOnly: false,
        settings: recordedSettings(SETTINGS),
      }
      const directory = path.join(root, String(count))
      const source = { kind: 'given', schema: undefined } as const
      const opened = runAtOnce(
        family.open({ definition, directory, source, fields: [] }, () => undefined),
      )
      if (opened.kind === 'outdated') throw new TypeError(opened.outdated.reason)
      const { engine } = opened
      try {
        yield
        yield* engine.apply(batch, () => undefined)
        yield* engine.answer(nearestTo(some()))
        yield* engine.flush(1)
        while (engine.maintain()) yield
        yield* engine.answer(nearestTo(some()))
        expect(engine.report().documents).to.equal(1)
      } finally {
        engine.close()
      }
    }

    expect(longestStepAtBestMs(life, STEP_MS_MAX)).to.be.below(STEP_MS_MAX)
  }).timeout(60_000)
})
