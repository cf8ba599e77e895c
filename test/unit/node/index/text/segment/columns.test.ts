import { expect } from 'chai'
import { array, assert, integer, property, record } from 'fast-check'
import { runAtOnce } from '../../../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../../../../../node/index/files/disk-work.ts'
import { PageCache } from '../../../../../../node/index/text/encoding/page-cache.ts'
import {
  SegmentInput,
  SegmentOutput,
} from '../../../../../../node/index/text/encoding/segment-file.ts'
import type { ColumnReader } from '../../../../../../node/index/text/segment/column.ts'
import { DiskSegment } from '../../../../../../node/index/text/segment/disk-segment.ts'
import { MemorySegment } from '../../../../../../node/index/text/segment/memory-segment.ts'
import type { Segment } from '../../../../../../node/index/text/segment/segment.ts'
import { writeSegment } from '../../../../../../node/index/text/segment/text-segment-writer.ts'

/** Documents with values, each so many behind the one before, and the numbers of their values. */
const columns = record({
  steps: array(record({ gap: integer({ min: 1, max: 12 }), count: integer({ min: 1, max: 3 }) }), {
    maxLength: 120,
  }),
  more: integer({ min: 0, max: 40 }),
  questions: array(integer({ min: 0, max: 1500 }), { minLength: 20, maxLength: 60 }),
})

function valuesOf(
  steps: readonly { readonly gap: number; readonly count: number }[],
  more: number,
) {
  const values: number[][] = []
  for (const { gap, count } of steps) {
    for (let i = 1; i < gap; i += 1) values.push([])
    const at = values.length
    values.push(Array.from({ length: count }, (_, i) => at * 10 + i))
  }
  return [...values, ...Array.from({ length: more }, (): number[] => [])]
}

function memorySegment(values: readonly (readonly number[])[]): MemorySegment {
  const segment = new MemorySegment()
  for (const [doc, numbers] of values.entries()) {
    const name = `k${String(doc).padStart(6, '0')}`
    const fields =
      numbers.length === 0 ? [] : ([{ kind: 'number', name: 'n', values: numbers }] as const)
    runAtOnce(segment.add(name, { key: Buffer.from(name), expiresAtMs: 0, fields }))
  }
  return segment
}

function diskSegment(memory: Segment): DiskSegment {
  const out = new SegmentOutput(undefined, DISK_WORK_HERE)
  const { bytes } = runAtOnce(writeSegment([{ segment: memory, isDropped: () => false }], out))
  const source = { name: 'made', ...(bytes === undefined ? {} : { bytes }) }
  return runAtOnce(
    DiskSegment.open(new SegmentInput(source, new PageCache(2 ** 20), DISK_WORK_HERE)),
  )
}

function expectValues(
  column: ColumnReader,
  values: readonly (readonly number[])[],
  questions: readonly number[],
) {
  for (const question of questions) {
    const doc = question % values.length
    const expected = values[doc] ?? []
    expect(column.count(doc), `count of ${doc}`).to.equal(expected.length)
    for (const [i, value] of expected.entries()) expect(column.value(doc, i)).to.equal(value)
    const to = Math.min(values.length, doc + 1 + (question % 40))
    const { values: read, ends } = column.read(doc, to)
    const among = values.slice(doc, to)
    expect([...read], `values from ${doc} to ${to}`).to.deep.equal(among.flat())
    let end = 0
    expect([...ends]).to.deep.equal(among.map(({ length }) => (end += length)))
  }
}

describe('columns that some documents have', () => {
  it('answer by lists and by ends as the documents were written, in any order of questions', () => {
    let listedCount = 0
    assert(
      property(columns, ({ steps, more, questions }) => {
        const values = valuesOf(steps, more)
        if (steps.length === 0) return
        const memory = memorySegment(values).view()
        const disk = diskSegment(memory)

        for (const segment of [memory, disk]) {
          const column = segment.field('n')?.column
          expect(column === undefined).to.equal(false)
          if (column !== undefined) expectValues(column, values, questions)
        }
        const { listed } = disk.field('n')?.column ?? {}
        if (listed === undefined) return
        listedCount += 1
        const docs = values.flatMap((numbers, doc) => (numbers.length === 0 ? [] : [doc]))
        expect([...listed.read(0, listed.count)]).to.deep.equal(docs)
      }),
    )
    expect(listedCount, 'some columns are lists').to.be.above(0)
  })
})
