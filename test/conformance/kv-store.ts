import { expect } from 'chai'
import { describeKvModel } from './kv-store-model.ts'
import { isServiceError } from '../../lib/errors.ts'
import { seededRandom } from '../../lib/random.ts'
import { errorOf } from '../support/error-of.ts'
import type { KvEntry, KvOp, KvRange, KvSnapshot, KvStore } from '../../node/storage/kv-store.ts'

const PAGE_BYTES_MAX = 2 * 256 * 1024
const SYNC = { sync: true }
const NO_SYNC = { sync: false }

export const bytes = (text: string): Buffer => Buffer.from(text)
export const put = (key: string, value: string): KvOp => ({
  type: 'put',
  key: bytes(key),
  value: bytes(value),
})
export const del = (key: string): KvOp => ({ type: 'del', key: bytes(key) })

type Readable = Pick<KvSnapshot, 'get' | 'pages'>

export async function entriesOf(store: Readable, range: KvRange = {}): Promise<KvEntry[]> {
  return (await Array.fromAsync(store.pages(range))).flat()
}

export async function textsOf(store: Readable, range: KvRange = {}): Promise<string[]> {
  return (await entriesOf(store, range)).map(
    ([key, value]) => `${key.toString()}=${value.toString()}`,
  )
}

export async function keysOf(store: Readable, range: KvRange = {}): Promise<string[]> {
  return (await entriesOf(store, range)).map(([key]) => key.toString())
}

/** Every KvStore must pass. `open` gives a new, empty store. */
export function describeKvStore(name: string, open: () => Promise<KvStore>): void {
  describe(`${name}: KvStore contract`, () => {
    describeReadingAndWriting(open)
    describeRanges(open)
    describePages(open)
    describeSnapshots(open)
    describeClose(open)
    describeKvModel(open)
  })
}

export interface ReopenableStore {
  readonly store: KvStore
  readonly reopen: () => Promise<KvStore>
}

/** Every KvStore that outlives its object must pass this as well. */
export function describeDurableKvStore(name: string, create: () => Promise<ReopenableStore>): void {
  describe(`${name}: durable KvStore contract`, () => {
    it('finds everything again after closing and reopening', async () => {
      const { store, reopen } = await create()
      await store.write([put('a', '1'), put('b', '1')], SYNC)
      await store.write([put('b', '2'), del('a'), put('c', '')], NO_SYNC)
      await store.close()

      await using again = await reopen()

      expect(await textsOf(again)).to.deep.equal(['b=2', 'c='])
    })

    it('refuses a second opening while the first is open', async () => {
      const { store, reopen } = await create()

      expect(await errorOf(reopen)).to.include({ code: 'UNAVAILABLE' })
      await store.close()
      await using again = await reopen()
      expect(await textsOf(again)).to.deep.equal([])
    })
  })
}

function describeReadingAndWriting(open: () => Promise<KvStore>): void {
  it('reads written values, and undefined for absent keys', async () => {
    await using store = await open()
    await store.write([put('a', '1')], NO_SYNC)

    expect(store.get(bytes('a'))?.toString()).to.equal('1')
    expect(store.get(bytes('b'))).to.equal(undefined)
  })

  it('distinguishes an empty value from an absent one', async () => {
    await using store = await open()
    await store.write([put('a', '')], NO_SYNC)

    expect(store.get(bytes('a'))).to.deep.equal(Buffer.alloc(0))
    expect(await textsOf(store)).to.deep.equal(['a='])
  })

  it('answers with Buffers', async () => {
    await using store = await open()
    await store.write([put('a', '1')], NO_SYNC)

    const found = [...(await entriesOf(store)).flat(), store.get(bytes('a'))]

    expect(found.map((each) => Buffer.isBuffer(each))).to.deep.equal([true, true, true])
  })

  it('accepts plain Uint8Arrays, also views into larger memory', async () => {
    await using store = await open()
    const memory = new TextEncoder().encode('xkeyvaluex')
    const key = memory.subarray(1, 4)
    const value = memory.subarray(4, 9)
    await store.write([{ type: 'put', key, value }], NO_SYNC)

    expect(await textsOf(store, { gte: key, lte: key })).to.deep.equal(['key=value'])
    expect(store.get(key)?.toString()).to.equal('value')
  })

  it('overwrites and deletes', async () => {
    await using store = await open()
    await store.write([put('a', '1'), put('b', '1')], NO_SYNC)

    await store.write([put('a', '2'), del('b'), del('never there')], NO_SYNC)

    expect(await textsOf(store)).to.deep.equal(['a=2'])
  })

  it('lets the last operation on a key win within one write', async () => {
    await using store = await open()
    const ops = [put('a', '1'), del('a'), put('a', '2'), put('b', '1'), del('b')]
    await store.write(ops, SYNC)

    expect(await textsOf(store)).to.deep.equal(['a=2'])
  })

  it('keeps its generation while no write fails', async () => {
    await using store = await open()
    const { generation } = store
    await store.write([put('a', '1')], SYNC)

    expect(store.generation).to.equal(generation)
  })

  it('accepts a write without operations', async () => {
    await using store = await open()
    await store.write([], SYNC)

    expect(await textsOf(store)).to.deep.equal([])
  })

  it('does not use the memory of a finished write', async () => {
    await using store = await open()
    const key = bytes('a')
    const value = bytes('1')
    await store.write([{ type: 'put', key, value }], NO_SYNC)

    key.fill('x')
    value.fill('x')

    expect(await textsOf(store)).to.deep.equal(['a=1'])
  })

  it('returns buffers that the caller may change', async () => {
    await using store = await open()
    await store.write([put('a', '1')], NO_SYNC)

    store.get(bytes('a'))?.fill('x')
    for (const entry of await entriesOf(store)) for (const buffer of entry) buffer.fill('x')
    await using snapshot = store.snapshot()
    snapshot.get(bytes('a'))?.fill('x')

    expect(await textsOf(store)).to.deep.equal(['a=1'])
    expect(store.get(bytes('a'))?.toString()).to.equal('1')
  })

  it('holds a value of 10 MiB', async () => {
    await using store = await open()
    const value = Buffer.alloc(10 * 1024 * 1024, 'abcdefg')
    await store.write([{ type: 'put', key: bytes('big'), value }], NO_SYNC)

    expect(store.get(bytes('big'))?.equals(value)).to.equal(true)
  })

  it('applies concurrent writes in the order of the calls', async () => {
    await using store = await open()
    const writes = Array.from({ length: 500 }, (_, index) =>
      store.write([put('last', `${index}`), put(`k${index}`, '')], { sync: index % 50 === 0 }),
    )
    await Promise.all(writes)

    expect(store.get(bytes('last'))?.toString()).to.equal('499')
    expect(await keysOf(store)).to.have.length(501)
  })

  it('shows each write whole or not at all to a snapshot', async () => {
    await using store = await open()
    const torn: string[] = []
    for (let round = 0; round < 50; round += 1) {
      const writes = [0, 1, 2].map((part) => {
        const value = `${round}.${part}`
        return store.write([put('first', value), put('second', value)], NO_SYNC)
      })
      await using snapshot = store.snapshot()
      const first = snapshot.get(bytes('first'))?.toString()
      const second = snapshot.get(bytes('second'))?.toString()
      if (first !== second) torn.push(`${first} and ${second}`)
      await Promise.all(writes)
    }

    expect(torn).to.deep.equal([])
  })

  it('estimates the bytes of a range', async () => {
    await using store = await open()
    const random = seededRandom(1)
    const value = (): Buffer => Buffer.from(Array.from({ length: 1000 }, () => random() * 256))
    for (let index = 0; index < 12; index += 1) {
      const ops = Array.from({ length: 1000 }, (_, at) => {
        return { type: 'put', key: bytes(`${index * 1000 + at}`), value: value() } as const
      })
      await store.write(ops, NO_SYNC)
    }

    // 12 MB were written; the estimate may lack what is still in memory, 4 MiB at most twice.
    expect(await store.approximateBytes({})).to.be.within(2_000_000, 16_000_000)
    expect(await store.approximateBytes({ gte: bytes('x'), lt: bytes('y') })).to.equal(0)
  })
}

function describeRanges(open: () => Promise<KvStore>): void {
  const ranges: Readonly<Record<string, { range: KvRange; expected: string }>> = {
    open: { range: {}, expected: 'abcde' },
    gte: { range: { gte: bytes('b') }, expected: 'bcde' },
    gt: { range: { gt: bytes('b') }, expected: 'cde' },
    lt: { range: { lt: bytes('d') }, expected: 'abc' },
    lte: { range: { lte: bytes('d') }, expected: 'abcd' },
    'gte and lt': { range: { gte: bytes('b'), lt: bytes('d') }, expected: 'bc' },
    'gt and lte': { range: { gt: bytes('b'), lte: bytes('d') }, expected: 'cd' },
    'bounds between keys': { range: { gt: bytes('aa'), lt: bytes('dd') }, expected: 'bcd' },
    'bounds beyond all keys': { range: { gte: bytes('A'), lte: bytes('z') }, expected: 'abcde' },
    'lower above upper': { range: { gte: bytes('d'), lt: bytes('b') }, expected: '' },
    'one key': { range: { gte: bytes('c'), lte: bytes('c') }, expected: 'c' },
    'nothing between': { range: { gt: bytes('b'), lt: bytes('c') }, expected: '' },
    'above all': { range: { gt: bytes('e') }, expected: '' },
    'below all': { range: { lt: bytes('a') }, expected: '' },
    reverse: { range: { reverse: true }, expected: 'edcba' },
    'reverse gte': { range: { gte: bytes('b'), reverse: true }, expected: 'edcb' },
    'reverse gt': { range: { gt: bytes('b'), reverse: true }, expected: 'edc' },
    'reverse lt': { range: { lt: bytes('d'), reverse: true }, expected: 'cba' },
    'reverse lte': { range: { lte: bytes('d'), reverse: true }, expected: 'dcba' },
    'reverse between keys': {
      range: { gt: bytes('aa'), lt: bytes('dd'), reverse: true },
      expected: 'dcb',
    },
    'reverse below all': { range: { lt: bytes('a'), reverse: true }, expected: '' },
    limit: { range: { limit: 2 }, expected: 'ab' },
    'limit beyond the end': { range: { limit: 9, gte: bytes('d') }, expected: 'de' },
    'limit of nothing': { range: { limit: 0 }, expected: '' },
    'reverse limit': { range: { limit: 2, lt: bytes('d'), reverse: true }, expected: 'cb' },
  }

  for (const [name, { range, expected }] of Object.entries(ranges)) {
    it(`walks the range: ${name}`, async () => {
      await using store = await open()
      await store.write(
        ['b', 'a', 'd', 'c', 'e'].map((key) => put(key, '')),
        NO_SYNC,
      )

      expect((await keysOf(store, range)).join('')).to.equal(expected)
    })
  }

  it('orders keys as unsigned bytes, a prefix before longer keys', async () => {
    await using store = await open()
    const keys = ['ff', '00', '7f', '80', '8000', 'fe', 'ffff', '01', '0100', 'c3a4']
    const ops = keys.map((hex) => {
      const key = Buffer.from(hex, 'hex')
      return { type: 'put', key, value: key } as const
    })
    await store.write(ops, NO_SYNC)

    const walked = (await entriesOf(store)).map(([key]) => key.toString('hex'))
    expect(walked).to.deep.equal(keys.toSorted())
  })

  it('finds nothing in an empty store', async () => {
    await using store = await open()

    expect(await keysOf(store)).to.deep.equal([])
    expect(await keysOf(store, { reverse: true })).to.deep.equal([])
  })
}

function describePages(open: () => Promise<KvStore>): void {
  async function filled(count: number, valueBytes: number): Promise<KvStore> {
    const store = await open()
    const value = Buffer.alloc(valueBytes, 'v')
    const keys = Array.from({ length: count }, (_, index) => `${index}`.padStart(6, '0'))
    await store.write(
      keys.map((key) => ({ type: 'put', key: bytes(key), value })),
      NO_SYNC,
    )
    return store
  }

  it('yields pages of at least one entry and about 256 KiB', async () => {
    await using store = await filled(3000, 1000)

    const pages = await Array.fromAsync(store.pages({}))

    const sizes = pages.map((page) => page.reduce((sum, [k, v]) => sum + k.length + v.length, 0))
    expect(pages.flat()).to.have.length(3000)
    expect(Math.min(...pages.map((page) => page.length))).to.be.greaterThan(0)
    expect(Math.max(...sizes)).to.be.lessThan(PAGE_BYTES_MAX)
    expect(pages.length).to.be.lessThan(3000 / 100)
  })

  it('yields an entry larger than a page', async () => {
    await using store = await filled(3, 1024 * 1024)

    const pages = await Array.fromAsync(store.pages({}))

    expect(pages.flat()).to.have.length(3)
    expect(Math.max(...pages.map((page) => page.length))).to.equal(1)
  })

  it('keeps limit and order across pages', async () => {
    await using store = await filled(5000, 200)

    const keys = await keysOf(store, { reverse: true, limit: 4321 })

    expect(keys).to.have.length(4321)
    expect(keys).to.deep.equal(keys.toSorted().toReversed())
    expect(keys.at(-1)).to.equal('000679')
  })

  it('walks over the state at the call, not at the first next', async () => {
    await using store = await open()
    await store.write([put('a', '1'), put('b', '1')], NO_SYNC)

    const pages = store.pages({})
    await store.write([put('a', '2'), del('b'), put('c', '2')], NO_SYNC)

    expect(await textsOf({ get: () => undefined, pages: () => pages })).to.deep.equal([
      'a=1',
      'b=1',
    ])
  })

  it('is not disturbed by writes between two pages', async () => {
    await using store = await filled(3000, 500)
    let seen = 0
    for await (const page of store.pages({})) {
      seen += page.length
      await store.write([put('000000x', ''), put('zzz', ''), del('002999')], NO_SYNC)
    }

    expect(seen).to.equal(3000)
  })

  it('may be left early, and frees its iterator', async () => {
    const store = await filled(3000, 500)
    for await (const page of store.pages({})) {
      expect(page.length).to.be.lessThan(3000)
      break
    }

    await store.close()
  })

  it('closes although pages were requested and never read', async () => {
    const store = await filled(10, 10)
    store.pages({})

    await store.close()
  })

  it('serves several walks at once', async () => {
    await using store = await filled(3000, 300)

    const walks = await Promise.all([1, 2, 3].map(() => keysOf(store)))

    expect(walks.map((keys) => keys.length)).to.deep.equal([3000, 3000, 3000])
  })
}

function describeSnapshots(open: () => Promise<KvStore>): void {
  it('does not show later writes in a snapshot', async () => {
    await using store = await open()
    await store.write([put('a', '1'), put('b', '1')], NO_SYNC)

    await using snapshot = store.snapshot()
    await store.write([put('a', '2'), del('b'), put('c', '2')], NO_SYNC)

    expect(snapshot.get(bytes('a'))?.toString()).to.equal('1')
    expect(snapshot.get(bytes('c'))).to.equal(undefined)
    expect(await textsOf(snapshot)).to.deep.equal(['a=1', 'b=1'])
    expect(await textsOf(snapshot, { reverse: true, limit: 1 })).to.deep.equal(['b=1'])
    expect(await textsOf(store)).to.deep.equal(['a=2', 'c=2'])
  })

  it('keeps several snapshots apart', async () => {
    await using store = await open()
    await store.write([put('a', '1')], NO_SYNC)
    await using first = store.snapshot()
    await store.write([put('a', '2')], NO_SYNC)
    await using second = store.snapshot()
    await store.write([del('a')], NO_SYNC)

    const seen = [first, second, store].map((view) => view.get(bytes('a'))?.toString())
    expect(seen).to.deep.equal(['1', '2', undefined])
  })

  it('refuses to read a snapshot that was disposed of', async () => {
    await using store = await open()
    const snapshot = store.snapshot()
    await snapshot[Symbol.asyncDispose]()

    expect(await errorOf(() => snapshot.get(bytes('a')))).to.include({ code: 'UNAVAILABLE' })
    expect(await errorOf(() => entriesOf(snapshot))).to.include({ code: 'UNAVAILABLE' })
  })
}

function describeClose(open: () => Promise<KvStore>): void {
  const methods: Record<
    Exclude<keyof KvStore, 'close' | 'damage' | 'generation' | symbol>,
    (store: KvStore) => unknown
  > = {
    get: (store) => store.get(bytes('a')),
    write: (store) => store.write([put('a', '1')], NO_SYNC),
    flush: (store) => store.flush(),
    snapshot: (store) => store.snapshot(),
    pages: (store) => entriesOf(store),
    approximateBytes: (store) => store.approximateBytes({}),
  }

  for (const [name, call] of Object.entries(methods)) {
    it(`refuses ${name} after close`, async () => {
      const store = await open()
      await store.close()

      const error = await errorOf(() => call(store))

      expect(isServiceError(error)).to.equal(true)
      expect(error).to.include({ code: 'UNAVAILABLE' })
    })
  }

  it('may be closed twice, also at once', async () => {
    const store = await open()

    await Promise.all([store.close(), store.close()])
    await store.close()
  })

  it('fails an open snapshot and an open walk with UNAVAILABLE', async () => {
    const store = await open()
    const value = Buffer.alloc(1000)
    const ops = Array.from({ length: 2000 }, (_, index) => {
      return { type: 'put', key: bytes(`${index}`), value } as const
    })
    await store.write(ops, NO_SYNC)
    const snapshot = store.snapshot()
    const walk = store.pages({})[Symbol.asyncIterator]()
    await walk.next()

    await store.close()

    expect(await errorOf(() => snapshot.get(bytes('a')))).to.include({ code: 'UNAVAILABLE' })
    expect(await errorOf(() => walk.next())).to.include({ code: 'UNAVAILABLE' })
    await snapshot[Symbol.asyncDispose]()
  })

  it('waits for running writes', async () => {
    const store = await open()
    let finished = 0
    const writes = Array.from({ length: 20 }, async (_, index) => {
      await store.write([put(`${index}`, '')], SYNC)
      finished += 1
    })

    await store.close()
    await Promise.all(writes)

    expect(finished).to.equal(20)
  })
}
