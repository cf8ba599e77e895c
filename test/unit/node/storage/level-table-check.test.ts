import { mkdtemp, open, readdir, rm, stat, utimes } from 'node:fs/promises'
import { randomBytes } from 'node:crypto'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { crc32c } from '../../../../node/storage/crc32c.ts'
import { findDamagedTable } from '../../../../node/storage/level-table-check.ts'
import { LevelKvStore } from '../../../../node/storage/level-kv-store.ts'

/** File systems know fractions of milliseconds. */
const AT_ONCE = { pace: async () => undefined, nowMs: () => Date.now() + 1, settledMs: 0 }
const TABLE = /\.(?:ldb|sst)$/

/** Some of the values are packed by Snappy, others cannot be. */
async function fill(directory: string): Promise<void> {
  await using store = await LevelKvStore.open(directory, { clock: systemClock })
  for (let at = 0; at < 300; at++) {
    const value = at % 2 === 0 ? Buffer.alloc(2000, `text ${at} `) : randomBytes(2000)
    await store.write([{ type: 'put', key: Buffer.from(`k${at}`), value }], { sync: false })
  }
  await store.flush()
}

async function flip(file: string, offset: number): Promise<void> {
  const handle = await open(file, 'r+')
  const byte = Buffer.alloc(1)
  await handle.read(byte, 0, 1, offset)
  await handle.write(Buffer.of((byte[0] ?? 0) ^ 4), 0, 1, offset)
  await handle.close()
}

describe('the check of LevelDB tables', () => {
  let directory = ''
  let table = ''

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-tables-'))
    await fill(directory)
    const names = (await readdir(directory)).filter((name) => TABLE.test(name))
    table = path.join(directory, must(names[0], 'a table file'))
  })

  afterEach(() => rm(directory, { recursive: true }))

  it('knows the checksum of the standard', () => {
    // RFC 3720, B.4, and the usual check value.
    expect(crc32c(Buffer.from('123456789'))).to.equal(0xe3069283)
    expect(crc32c(Buffer.alloc(32))).to.equal(0x8a9136aa)
    expect(crc32c(Buffer.alloc(32, 0xff))).to.equal(0x62a8ab43)
    expect(crc32c(Buffer.from('123456789').subarray(1))).to.not.equal(0xe3069283)
  })

  it('finds nothing in whole files', async () => {
    expect(await findDamagedTable(directory, AT_ONCE)).to.equal(undefined)
  })

  it('finds a flipped bit anywhere in a file, and names the file', async () => {
    const { size } = await stat(table)
    const places = Array.from({ length: 60 }, (_, i) => Math.floor((i * (size - 1)) / 59))
    // The footer has unused bytes between its two handles and its magic number.
    for (const offset of places.filter((at) => at < size - 48 || at >= size - 8)) {
      await flip(table, offset)
      const found = await findDamagedTable(directory, AT_ONCE)
      await flip(table, offset)
      expect(found, `offset ${offset} of ${size}`).to.include({ code: 'CORRUPTION' })
      expect(String(found)).to.include(path.basename(table))
    }
  })

  it('leaves out a file that may be being written', async () => {
    await flip(table, 100)
    const young = { ...AT_ONCE, settledMs: 10_000 }

    expect(await findDamagedTable(directory, young)).to.equal(undefined)
    const before = new Date(Date.now() - 20_000)
    await utimes(table, before, before)
    expect(await findDamagedTable(directory, young)).to.include({ code: 'CORRUPTION' })
  })
})
