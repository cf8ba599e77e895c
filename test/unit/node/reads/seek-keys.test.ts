import { expect } from 'chai'
import { seekKeys } from '../../../../node/reads/seek-keys.ts'
import type { KeyRange } from '../../../../node/shard/command/key-range.ts'
import type { ScanRow } from '../../../../node/shard/shard.ts'

const ROWS = 16_000
const ROWS_PER_PAGE = 256
const EVERYTHING: KeyRange = { start: Buffer.alloc(0), end: undefined }
const keyOf = (at: number): Buffer => Buffer.from(`k${String(at).padStart(6, '0')}`)

/** Every second number is a row; `scans` counts how often rows were asked for, `rows` those that were read. */
class Rows {
  scans = 0
  rows = 0

  async *scan({ start, end }: KeyRange): AsyncGenerator<ScanRow[]> {
    this.scans += 1
    let page: ScanRow[] = []
    for (let at = 0; at < ROWS; at += 2) {
      const key = keyOf(at)
      if (key.compare(start) < 0 || (end !== undefined && key.compare(end) >= 0)) continue
      this.rows += 1
      page.push({ key, record: Buffer.alloc(0) })
      if (page.length < ROWS_PER_PAGE) continue
      yield page
      page = []
    }
    if (page.length > 0) yield page
  }
}

async function sought(numbers: readonly number[]) {
  const rows = new Rows()
  const parts = [{ part: EVERYTHING, scan: (range: KeyRange) => rows.scan(range) }]
  const pages = await Array.fromAsync(seekKeys(parts, numbers.map(keyOf)))
  const found = pages.flat().map(({ key }) => key.toString())
  const there = [...new Set(numbers)].filter((at) => at % 2 === 0 && at < ROWS)
  const expected = there.toSorted((a, b) => a - b).map((at) => keyOf(at).toString())
  expect(found).to.deep.equal(expected)
  return rows
}

describe('keys that are sought', () => {
  it('are looked up when they are few', async () => {
    const { scans, rows } = await sought([3000, 7, 12, 3000, 9999])

    expect(scans).to.equal(4)
    expect(rows).to.equal(2)
  })

  it('are walked when they are nearly all', async () => {
    const { scans } = await sought(Array.from({ length: ROWS }, (_, at) => ROWS - at))

    expect(scans).to.be.below(70)
  })

  it('are looked up when they are far from each other, and a page is tried now and then', async () => {
    const { scans, rows } = await sought(Array.from({ length: 200 }, (_, at) => at * 80))

    expect(scans).to.be.within(170, 210)
    expect(rows).to.be.below(ROWS)
  })

  it('are walked where they are near, and looked up elsewhere', async () => {
    const near = Array.from({ length: 1000 }, (_, at) => at)
    const far = Array.from({ length: 100 }, (_, at) => 1000 + at * 30)

    const { scans } = await sought([...near, ...far])

    expect(scans).to.be.below(180)
  })
})
