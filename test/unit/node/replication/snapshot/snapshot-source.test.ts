import { expect } from 'chai'
import { mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ManualClock } from '../../../../../lib/clock.ts'
import {
  FIRST_PAGE,
  type SnapshotHeader,
} from '../../../../../node/replication/snapshot/snapshot-messages.ts'
import {
  SNAPSHOT_LIMITS,
  type SnapshotLimits,
} from '../../../../../node/replication/snapshot/snapshot-limits.ts'
import { decodePage } from '../../../../../node/replication/snapshot/snapshot-page.ts'
import type { SnapshotSource } from '../../../../../node/replication/snapshot/snapshot-source.ts'
import { encodeAppliedWithPart } from '../../../../../node/shard/format/applied-position.ts'
import { APPLIED_KEY } from '../../../../../node/shard/format/keyspace.ts'
import type { KvStore } from '../../../../../node/storage/kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { until } from '../../../../support/until.ts'
import {
  LOG,
  memoryStore,
  POSITION,
  SnapshotWorld,
  storeOps,
} from '../../../../support/worlds/snapshot-world.ts'

const MIB = 1024 * 1024
const WANTED = { logId: LOG, atLeast: 0 }
const never = new AbortController().signal

describe('a source of snapshots', () => {
  const clock = new ManualClock()
  let world: SnapshotWorld
  let store: KvStore
  let source: SnapshotSource
  /** Views of the store that are not disposed. */
  let views = 0

  beforeEach(async () => {
    views = 0
    world = await SnapshotWorld.open(clock)
    store = await memoryStore(storeOps(3000, 1000))
    const snapshot = store.snapshot.bind(store)
    store.snapshot = () => {
      views += 1
      const view = snapshot()
      const dispose = async (): Promise<void> => {
        views -= 1
        await view[Symbol.asyncDispose]()
      }
      return {
        get: view.get.bind(view),
        pages: view.pages.bind(view),
        [Symbol.asyncDispose]: dispose,
      }
    }
    await open()
  })

  afterEach(() => world[Symbol.asyncDispose]())

  async function open(limits: Partial<SnapshotLimits> = {}): Promise<void> {
    const files = { index: { segment: Buffer.from('bytes') } }
    world.replicas.set(LOG, world.replica(store, files))
    source = await world.source(limits)
  }

  function pagesOf(header: SnapshotHeader, after = FIRST_PAGE, reader = 'reader') {
    return source.pages(reader, { id: header.id, after }, never)
  }

  function staged(): Promise<string[]> {
    return readdir(path.join(world.directory, 'snapshots', 'outgoing'))
  }

  it('shows the store as it was at the opening', async () => {
    const header = await source.open('reader', WANTED)
    const before = await Array.fromAsync(pagesOf(header))
    const again = await source.open('reader', WANTED)
    await store.write([{ type: 'put', key: Buffer.of(9), value: Buffer.of(1) }], { sync: false })

    const pages = await Array.fromAsync(pagesOf(again))

    expect(Buffer.concat(pages).equals(Buffer.concat(before))).to.equal(true)
  })

  it('gives the same bytes to a reader that comes back', async () => {
    const header = await source.open('reader', WANTED)
    const whole = await Array.fromAsync(pagesOf(header))
    const marks = [FIRST_PAGE]
    for (const page of whole) marks.push(decodePage(page, marks.at(-1) ?? FIRST_PAGE).mark)
    expect(whole.length).to.be.greaterThan(10)

    for (const [number, mark] of marks.slice(0, -1).entries()) {
      const rest = await Array.fromAsync(pagesOf(header, mark))
      expect(Buffer.concat(rest).equals(Buffer.concat(whole.slice(number)))).to.equal(true)
    }
  })

  it('forgets where a reader was long ago', async () => {
    await open({ resumablePages: 3 })
    const header = await source.open('reader', WANTED)
    const whole = await Array.fromAsync(pagesOf(header))
    const first = decodePage(whole[0] ?? Buffer.alloc(0), FIRST_PAGE).mark

    expect(await errorOf(() => pagesOf(header, first).next())).to.include({ code: 'NOT_FOUND' })
  })

  it('refuses a reader that had another page', async () => {
    const header = await source.open('reader', WANTED)
    await pagesOf(header).next()

    const error = await errorOf(() => pagesOf(header, { number: 1, crc: 5 }).next())

    expect(error).to.include({ code: 'NOT_FOUND' })
  })

  it('ends an earlier reader when it comes back', async () => {
    const header = await source.open('reader', WANTED)
    const early = pagesOf(header)
    await early.next()
    const late = pagesOf(header)
    await late.next()

    expect(await early.next()).to.deep.equal({ done: true, value: undefined })
    expect((await late.next()).done).to.equal(false)
  })

  it('serves a snapshot to the node that opened it alone', async () => {
    const header = await source.open('reader', WANTED)

    const error = await errorOf(() => pagesOf(header, FIRST_PAGE, 'other').next())
    await source.close('other', header.id)

    expect(error).to.include({ code: 'NOT_FOUND' })
    expect(source.openCount).to.equal(1)
  })

  it('refuses one snapshot too many, until one is closed', async () => {
    const headers = []
    for (let at = 0; at < SNAPSHOT_LIMITS.openMax; at++) {
      headers.push(await source.open(`reader ${at}`, WANTED))
    }

    expect(await errorOf(() => source.open('reader', WANTED))).to.include({ code: 'OVERLOADED' })
    await source.close('reader 0', headers[0]?.id ?? '')
    await source.open('reader', WANTED)
  })

  it('frees the view and the links when a snapshot is closed, read or not', async () => {
    const header = await source.open('reader', WANTED)
    const other = await source.open('reader', WANTED)
    const pages = pagesOf(header)
    await pages.next()
    expect(await staged()).to.have.length(2)

    await source.close('reader', header.id)
    await source.close('reader', other.id)

    expect(await staged()).to.deep.equal([])
    expect([views, source.openCount]).to.deep.equal([0, 0])
    expect(await errorOf(() => pages.next())).to.include({ code: 'NOT_FOUND' })
  })

  it('frees a snapshot that nobody reads', async () => {
    const header = await source.open('reader', WANTED)
    const pages = pagesOf(header)
    clock.advance(SNAPSHOT_LIMITS.idleMs - 1)
    await pages.next()
    clock.advance(SNAPSHOT_LIMITS.idleMs - 1)
    await pages.next()
    expect(source.openCount).to.equal(1)

    clock.advance(SNAPSHOT_LIMITS.idleMs)
    await until(async () => source.openCount === 0)

    expect([views, (await staged()).length]).to.deep.equal([0, 0])
  })

  it('frees a snapshot that is too old, though it is read', async () => {
    await open({ ageMs: 1000 })
    const header = await source.open('reader', WANTED)
    const pages = pagesOf(header)
    await pages.next()

    clock.advance(1000)
    await until(async () => source.openCount === 0)

    expect(await errorOf(() => pages.next())).to.include({ code: 'NOT_FOUND' })
  })

  it('frees the snapshots of a log whose replica is closed', async () => {
    await source.open('reader', WANTED)

    await source.closeAllOf('00000000000000bb')
    expect(source.openCount).to.equal(1)
    await source.closeAllOf(LOG)

    expect([views, source.openCount]).to.deep.equal([0, 0])
  })

  it('frees what it has when the opening fails', async () => {
    const failing = world.replica(store)
    world.replicas.set(LOG, { ...failing, linkIndexes: () => Promise.reject(new RangeError()) })

    await errorOf(() => source.open('reader', WANTED))
    world.replicas.set(LOG, failing)
    await errorOf(() => source.open('reader', { ...WANTED, atLeast: 71 }))

    expect([views, source.openCount, (await staged()).length]).to.deep.equal([0, 0, 0])
  })

  it('removes at its start what an earlier process has left', async () => {
    const left = path.join(world.directory, 'snapshots', 'outgoing', 'of an earlier process')
    await mkdir(left)
    await writeFile(path.join(left, 'segment'), 'bytes')

    await open()

    expect(await staged()).to.deep.equal([])
  })

  it('keeps to its rate, all snapshots together', async () => {
    await open({ bytesPerSecond: MIB })
    const beganMs = clock.monotonicMs()
    let bytes = 0
    const readers = ['one', 'two'].map(async (reader) => {
      const header = await source.open(reader, WANTED)
      for await (const page of pagesOf(header, FIRST_PAGE, reader)) bytes += page.length
    })
    let isDone = false
    const done = Promise.all(readers).then(() => (isDone = true))
    await until(async () => {
      clock.advance(125)
      return isDone
    })
    await done

    const tookMs = clock.monotonicMs() - beganMs
    expect(tookMs).to.be.greaterThan(((bytes - 256 * 1024) / MIB) * 1000)
  })

  it('waits until an entry that is applied in parts is whole', async () => {
    const part = { type: 'put', key: APPLIED_KEY } as const
    const value = encodeAppliedWithPart({ ...POSITION, nextOrdinal: 9 })
    await store.write([{ ...part, value }], { sync: false })
    const opening = source.open('reader', WANTED)
    const whole = value.subarray(0, value.length - 1)
    clock.advance(100)
    await store.write([{ ...part, value: whole }], { sync: false })

    let header: SnapshotHeader | undefined
    void opening.then((opened) => (header = opened))
    await until(async () => {
      clock.advance(10)
      return header !== undefined
    })

    expect(header?.position).to.deep.equal(POSITION)
    expect(views).to.equal(1)
  })
})
