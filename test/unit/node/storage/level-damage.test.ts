import { createHash } from 'node:crypto'
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import type { ServiceError } from '../../../../lib/errors.ts'
import { LevelKvStore } from '../../../../node/storage/level-kv-store.ts'
import { bytes, entriesOf } from '../../../conformance/kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'

const TABLE = /\.ldb$/

/** Bytes that Snappy cannot pack, so they lie in the table as they are. */
const RANDOM = createHash('sha512').update('value').digest()
const KEY = bytes('\u0003tides')

describe('a LevelKvStore with a damaged table', () => {
  let directory = ''
  let table = ''
  let whole = Buffer.alloc(0)
  let told: ServiceError[] = []

  const open = (): Promise<LevelKvStore> =>
    LevelKvStore.open(directory, { clock: systemClock, onDamage: (error) => told.push(error) })

  beforeEach(async () => {
    told = []
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-damage-'))
    await using store = await open()
    await store.write([{ type: 'put', key: KEY, value: RANDOM }], { sync: false })
    await store.flush()
    const names = (await readdir(directory)).filter((name) => TABLE.test(name))
    table = path.join(directory, must(names[0], 'a table file'))
    whole = await readFile(table)
  })

  afterEach(() => rm(directory, { recursive: true }))

  /** Opens the store over a table whose byte at `offset` has another bit. */
  async function openDamaged(offset: number): Promise<LevelKvStore> {
    const damaged = Buffer.from(whole)
    damaged[offset] = (damaged[offset] ?? 0) ^ 4
    await writeFile(table, damaged)
    return open()
  }

  it('answers no byte of a value that was changed, in any way to read it', async () => {
    const start = whole.indexOf(RANDOM)
    expect(start).to.be.greaterThan(0)

    for (const offset of [0, 1, 31, RANDOM.length - 1].map((at) => start + at)) {
      await using store = await openDamaged(offset)
      await using snapshot = store.snapshot()
      told = []

      const errors = [
        await errorOf(() => store.get(KEY)),
        await errorOf(() => snapshot.get(KEY)),
        await errorOf(() => entriesOf(store)),
        await errorOf(() => entriesOf(snapshot)),
      ]

      for (const error of errors) expect(error, `${offset}`).to.include({ code: 'CORRUPTION' })
      expect(told).to.deep.equal(errors)
      expect(told[0]?.message).to.include(directory).and.include(KEY.toString('hex'))
    }
  })

  it('finds a value without its checksum', async () => {
    const start = whole.indexOf(RANDOM)
    for (const offset of [4, 3, 2, 1].map((before) => start - before)) {
      await using store = await openDamaged(offset)

      expect(await errorOf(() => store.get(KEY))).to.include({ code: 'CORRUPTION' })
    }
  })

  it('answers no entry under a key that was changed', async () => {
    const start = whole.indexOf(KEY)
    expect(start).to.be.greaterThan(-1)

    for (const offset of [1, KEY.length - 1].map((at) => start + at)) {
      await using store = await openDamaged(offset)

      expect(await errorOf(() => entriesOf(store)), `${offset}`).to.include({ code: 'CORRUPTION' })
    }
    expect(told).to.have.length(2)
  })

  it('is not opened with any bit of CURRENT flipped, and says so', async () => {
    const file = path.join(directory, 'CURRENT')
    const current = await readFile(file)

    for (let bit = 0; bit < 8 * current.length; bit++) {
      const damaged = Buffer.from(current)
      damaged[bit >> 3] = (damaged[bit >> 3] ?? 0) ^ (1 << (bit & 7))
      await writeFile(file, damaged)

      const error = await errorOf(open)

      expect(error, `bit ${bit}`).to.include({ code: 'CORRUPTION' })
      expect(error, `bit ${bit}`).to.have.property('message').that.includes(directory)
    }
  })

  it('is not opened while its CURRENT cannot be read, which is not damage', async () => {
    const file = path.join(directory, 'CURRENT')
    await rm(file)
    await mkdir(file)

    const error = await errorOf(open)

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(error).to.have.property('message').that.includes('CURRENT')
  })
})
