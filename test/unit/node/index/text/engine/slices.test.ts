// No document within the limits holds a worker for long: measured by the CPU time of the steps, so that
// a busy machine changes nothing, with a margin for the collection of garbage.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../../lib/clock.ts'
import type { Paced } from '../../../../../../lib/sliced.ts'
import { DOCUMENT_BYTES_MAX } from '../../../../../../node/document/document-limits.ts'
import { defaultMergePolicy } from '../../../../../../node/index/text/engine/text-merge-policy.ts'
import type { TextIndexLimits } from '../../../../../../node/index/text/engine/text-index-options.ts'
import { TextMemory } from '../../../../../../node/index/text/engine/text-memory.ts'
import { TextEngine } from '../../../../../../node/index/text/hosted/text-engine.ts'
import { slowdown, timed } from '../../../../../support/slices/yardstick.ts'
import { applyAloneInSteps } from '../../../../../support/worlds/apply-alone.ts'
import { textOp, TextShard } from '../../../../../support/worlds/text-shard.ts'

/** The CPU time of each step. It was 9 to 16 s for an array of 8,000 strings. */
const STEP_CPU_MS_MAX = 250
/** The CPU time of all steps for one document. It is 2 s at most when nothing else runs. */
const DOCUMENT_CPU_MS_MAX = 30_000

const times = <T>(count: number, make: (i: number) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(i))

const members = (count: number, make: (i: number) => unknown): object =>
  Object.fromEntries(times(count, (i) => [`f${i}`, make(i)]))

const nested = (depth: number, inner: unknown): unknown =>
  depth === 0 ? inner : { a: nested(depth - 1, inner), b: ['x', ['y', ['z']]] }

/** Two segments of any size are merged. */
const MERGING: TextIndexLimits = {
  memorySegmentBytesMax: 2 ** 30,
  mergePolicy: { ...defaultMergePolicy, segmentsPerTier: 2, smallestBytes: 2 ** 30 },
}

/** All that the limits of a document allow, as far as it differs for an index. */
const SHAPES: Readonly<Record<string, () => unknown>> = {
  'one field with 30,000 strings': () => ({ a: times(30_000, (i) => `w${i.toString(36)}`) }),
  'one field with 100,000 strings in no order': () => ({
    a: times(100_000, (i) => `w${(i * 7919) % 100_003}`),
  }),
  '60,000 fields of numbers': () => members(60_000, (i) => i),
  '9,000 fields of text': () => members(9000, (i) => `v${i}`),
  '100,000 numbers': () => ({ a: times(100_000, (i) => (i * 7919) % 100_003) }),
  '100,000 dates': () => ({ a: times(100_000, (i) => new Date(i * 1e9).toISOString()) }),
  '50,000 places': () => ({ a: times(50_000, (i) => ({ lat: i % 90, lon: i % 180 })) }),
  '100,000 times one string': () => ({ a: times(100_000, () => 'same') }),
  '30,000 objects': () => ({ a: times(30_000, (i) => ({ x: i, y: i + 1, z: i + 2 })) }),
  'a text of 2 MB of distinct words': () => ({
    a: times(350_000, (i) => `w${i.toString(36)}`).join(' '),
  }),
  'a text of 3 MB of one word': () => ({ a: 'b '.repeat(1_500_000) }),
  'one word of 8 MB': () => ({ a: 'x'.repeat(8_000_000) }),
  '900,000 ideographs': () => ({ a: '東京都'.repeat(300_000) }),
  '40,000 long words': () => ({ a: times(40_000, (i) => 'x'.repeat(200) + i).join(' ') }),
  '1,000 keywords of 8,000 characters that differ at their end': () => ({
    a: times(1000, (i) => 'x'.repeat(8000) + i),
  }),
  'objects in objects': () => nested(95, 'deep'),
  '3 million numbers beside a long one': () => ({ a: times(3_000_000, () => 1), b: 2n ** 80n }),
}

function jsonOf(value: unknown): Buffer {
  const text = JSON.stringify(value, (_, one: unknown) =>
    typeof one === 'bigint' ? JSON.rawJSON(String(one)) : one,
  )
  return Buffer.from(text)
}

describe('the steps of a text index', () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-slices-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  for (const [shape, make] of Object.entries(SHAPES)) {
    it(`are short for a document of ${shape}`, () => {
      const json = jsonOf(make())
      expect(json.length).to.be.at.most(DOCUMENT_BYTES_MAX)
      const held = TextEngine.open(
        {
          definition: { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false },
          directory: path.join(directory, 'index'),
          source: { kind: 'given', schema: undefined },
          fields: [],
        },
        { clock: new ManualClock(), memory: new TextMemory(512 * 2 ** 20), limits: MERGING },
      )

      const measured = measure(lifeOf(held, json))

      const { segments } = held.index.stats()
      held.index.close()
      expect(segments).to.equal(1)
      expect(measured.longestMs).to.be.below(STEP_CPU_MS_MAX)
      expect(measured.totalMs).to.be.below(DOCUMENT_CPU_MS_MAX)
    }).timeout(240_000)
  }

  it('of a worker alternate with searches of other indexes', async () => {
    await using text = await TextShard.open()
    await text.write(textOp('a', 'high tide'))
    await text.caughtUp()

    await text.write(textOp('b', 'low tide', { tags: times(30_000, (i) => `w${i.toString(36)}`) }))
    await text.caughtUp()
    await text.close()
    const { longestByWork, work } = (await text.pool.report()).slices

    expect(longestByWork?.workMs).to.be.below(STEP_CPU_MS_MAX)
    expect(work.counts.reduce((sum, count) => sum + count, 0)).to.be.greaterThan(20)
  }).timeout(240_000)
})

/** The document is applied, flushed and merged with others. */
function* lifeOf(held: TextEngine, json: Buffer): Paced<void> {
  yield* applyAloneInSteps(held, 1, [{ key: Buffer.from('k'), json, expiresAtMs: 0 }])
  yield* held.flush(1)
  const other = { key: Buffer.from('other'), json: Buffer.from('{"a":"b"}'), expiresAtMs: 0 }
  yield* applyAloneInSteps(held, 2, [other])
  yield* held.flush(2)
  while (held.index.maintain(0)) yield
}

/** In time of the processor on the machine of the yardstick. */
function measure(work: Paced<void>): { readonly longestMs: number; readonly totalMs: number } {
  const before = slowdown()
  let [longestMs, totalMs] = [0, 0]
  for (;;) {
    const { result: isDone, cpuMs } = timed(() => work.next().done === true)
    longestMs = Math.max(longestMs, cpuMs)
    totalMs += cpuMs
    if (isDone) break
  }
  const slower = Math.max(before, slowdown())
  return { longestMs: longestMs / slower, totalMs: totalMs / slower }
}
