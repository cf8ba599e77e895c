import { expect } from 'chai'
import type { KvStore } from '../../../node/storage/kv-store.ts'
import { FaultyDisk } from '../../support/fakes/faulty-disk.ts'
import {
  bytes,
  describeDurableKvStore,
  describeKvStore,
  entriesOf,
  put,
  textsOf,
} from '../../conformance/kv-store.ts'
import { errorOf } from '../../support/error-of.ts'

const SYNC = { sync: true }
const NO_SYNC = { sync: false }

describe('FaultyDisk', () => {
  describeKvStore('FaultyKvStore', () => new FaultyDisk().open('store'))
  describeDurableKvStore('FaultyKvStore', async () => {
    const disk = new FaultyDisk()
    return { store: await disk.open('store'), reopen: () => disk.open('store') }
  })

  for (const durably of ['by a synced write', 'by a flush'] as const) {
    it(`keeps writes that were made durable ${durably}, and some, none or all later ones`, async () => {
      const found = await survivorsOf(async (store) => {
        await store.write([put('a', '1')], NO_SYNC)
        await store.write([put('b', '1')], { sync: durably === 'by a synced write' })
        if (durably === 'by a flush') await store.flush()
        await store.write([put('c', '1')], NO_SYNC)
        await store.write([put('a', '2')], NO_SYNC)
      })

      expect(found).to.deep.equal(new Set(['a=1 b=1', 'a=1 b=1 c=1', 'a=2 b=1 c=1']))
    })
  }

  it('does not make one store durable by syncing another', async () => {
    const found = await survivorsOf(async (store, disk) => {
      await store.write([put('a', '1')], NO_SYNC)
      const other = await disk.open('other')
      await other.write([put('b', '1')], SYNC)
    })

    expect(found).to.deep.equal(new Set(['', 'a=1']))
  })

  const outcomes = { before: ['a=1'], after: ['a=1', 'b=1'] } as const
  for (const moment of ['before', 'after'] as const) {
    it(`crashes ${moment} the chosen write, counted over all stores`, async () => {
      const disk = new FaultyDisk()
      const [one, two] = [await disk.open('one'), await disk.open('two')]
      disk.crashAt(3, moment)
      await one.write([put('a', '1')], SYNC)
      await two.write([put('a', '1')], SYNC)

      const lost = await errorOf(() => two.write([put('b', '1')], SYNC))
      disk.restart()

      expect(lost).to.include({ code: 'UNAVAILABLE' })
      expect(disk.writeCount).to.equal(3)
      expect(await textsOf(await disk.open('two'))).to.deep.equal(outcomes[moment])
    })
  }

  it('lets no store opened before a power failure answer, even after the restart', async () => {
    const disk = new FaultyDisk()
    const store = await disk.open('store')
    const snapshot = store.snapshot()
    const pages = store.pages({})
    disk.restart()

    const calls = [
      () => store.get(bytes('a')),
      () => store.write([put('a', '1')], SYNC),
      () => store.snapshot(),
      () => entriesOf(store),
      () => store.approximateBytes({}),
      () => snapshot.get(bytes('a')),
      () => Array.fromAsync(pages),
    ]
    for (const call of calls) expect(await errorOf(call)).to.include({ code: 'UNAVAILABLE' })
    await store.close()
  })

  it('refuses everything between power failure and restart', async () => {
    const disk = new FaultyDisk()
    disk.crash()

    for (const call of [() => disk.open('a'), () => disk.destroy('a'), () => disk.list()]) {
      expect(await errorOf(call)).to.include({ code: 'UNAVAILABLE' })
    }
  })

  it('does not close a new store when the old one is closed after the restart', async () => {
    const disk = new FaultyDisk()
    const old = await disk.open('store')
    disk.restart()
    await using store = await disk.open('store')

    await old.close()

    expect(await errorOf(() => disk.open('store'))).to.include({ code: 'UNAVAILABLE' })
    await store.write([put('a', '1')], SYNC)
  })

  it('fails writes with the chosen code for a while, and changes nothing by them', async () => {
    const disk = new FaultyDisk()
    const store = await disk.open('store')
    disk.failWrites('DISK_FULL')
    const refused = await errorOf(() => store.write([put('a', '1')], SYNC))
    disk.failWrites(undefined)
    await store.write([put('b', '1')], SYNC)

    expect(refused).to.include({ code: 'DISK_FULL' })
    expect(disk.writeCount).to.equal(1)
    expect(await textsOf(store)).to.deep.equal(['b=1'])
  })

  const visible = { before: [], after: ['a=1'] } as const
  for (const moment of ['before', 'after'] as const) {
    it(`holds a write ${moment} it takes effect until released`, async () => {
      const disk = new FaultyDisk()
      const store = await disk.open('store')
      disk.hold(moment)
      let answered = false
      const write = store.write([put('a', '1')], SYNC).then(() => {
        answered = true
      })
      await disk.whenHeld()

      expect(await textsOf(store)).to.deep.equal(visible[moment])
      expect(answered).to.equal(false)
      disk.release()
      await write
      expect(await textsOf(store)).to.deep.equal(['a=1'])
    })

    it(`fails a write held ${moment} when power is lost`, async () => {
      const disk = new FaultyDisk()
      const store = await disk.open('store')
      disk.hold(moment)
      const writes = ['a', 'b'].map((key) => errorOf(() => store.write([put(key, '1')], SYNC)))
      await disk.whenHeld()

      disk.restart()

      for (const error of await Promise.all(writes)) {
        expect(error).to.include({ code: 'UNAVAILABLE' })
      }
      expect(await textsOf(await disk.open('store'))).to.deep.equal(visible[moment])
    })
  }

  it('destroys and lists stores', async () => {
    const disk = new FaultyDisk()
    for (const name of ['b', 'a', 'c']) await (await disk.open(name)).close()
    await disk.destroy('b')
    await disk.destroy('never there')

    expect(await disk.list()).to.deep.equal(['a', 'c'])
    expect(await textsOf(await disk.open('b'))).to.deep.equal([])
  })
})

/** What is found after a power failure, over many seeds. */
async function survivorsOf(
  run: (store: KvStore, disk: FaultyDisk) => Promise<void>,
): Promise<Set<string>> {
  const found = new Set<string>()
  for (let seed = 1; seed <= 40; seed++) {
    const disk = new FaultyDisk(seed)
    await run(await disk.open('store'), disk)
    disk.restart()
    found.add((await textsOf(await disk.open('store'))).join(' '))
  }
  return found
}
