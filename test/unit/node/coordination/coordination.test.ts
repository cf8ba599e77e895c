import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import type { Change, Commit } from '../../../../node/coordination/coordination.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import { StoredTimestampBound } from '../../../../node/coordination/stored-timestamp-bound.ts'
import { TIMESTAMP_ZERO, timestampOf } from '../../../../node/clock/hybrid-clock.ts'
import { FaultyDisk } from '../../../support/fakes/faulty-disk.ts'
import { LevelKvStore } from '../../../../node/storage/level-kv-store.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { describeElections } from '../../../conformance/coordination-elections.ts'
import { describeLeases } from '../../../conformance/coordination-leases.ts'
import type { LeaseWorld } from '../../../conformance/coordination-leases.ts'
import { describeCoordination } from '../../../conformance/coordination.ts'
import { entriesOf } from '../../../conformance/kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'

const putting = (key: string, value: string): Change => ({
  type: 'put',
  key,
  value: Buffer.from(value),
})

const openLevel = async (directory: string): Promise<EmbeddedCoordination> =>
  new EmbeddedCoordination(await LevelKvStore.open(directory, { clock: systemClock }), systemClock)

/** One store is both of its users. A process that pauses once is cut off from its own store. */
async function openEmbeddedLeases(ttlSeconds: number): Promise<LeaseWorld> {
  const clock = new ManualClock()
  const store = new EmbeddedCoordination(new MemoryKvStore(), clock)
  const ttlMs = ttlSeconds * 1000
  let nextStepMs = ttlMs / 10
  return {
    owner: store,
    other: store,
    passTime: () => {
      clock.advance(nextStepMs)
      nextStepMs = ttlMs / 10
    },
    cutOff: () => {
      nextStepMs = ttlMs * 0.85
    },
    [Symbol.asyncDispose]: () => store.close(),
  }
}

describe('EmbeddedCoordination', () => {
  let root = ''
  before(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-coordination-'))
  })
  after(() => rm(root, { recursive: true, force: true }))

  let count = 0
  const nextDirectory = (): string => path.join(root, `${(count += 1)}`)

  describeCoordination('embedded in memory', async () => {
    return new EmbeddedCoordination(new MemoryKvStore(), systemClock)
  })
  describeCoordination('embedded on LevelDB', () => openLevel(nextDirectory()))

  it('keeps entries and revision over a restart, and tells old watchers to list again', async () => {
    const directory = nextDirectory()
    const before = await openLevel(directory)
    await before.commit({ when: [], changes: [putting('/a', '1')] })
    await before.commit({ when: [], changes: [putting('/a', '2')] })
    await before.close()

    await using store = await openLevel(directory)
    const { signal } = new AbortController()
    const watched = await Array.fromAsync(store.watch('', 2, signal))

    expect(await store.list('')).to.deep.equal({
      entries: [{ key: '/a', value: Buffer.from('2'), createRevision: 1, modRevision: 2 }],
      revision: 2,
    })
    expect(watched).to.deep.equal([{ kind: 'compacted' }])
  })

  for (const moment of ['before', 'after'] as const) {
    it(`is whole after a power failure ${moment} a commit is written`, async () => {
      const disk = new FaultyDisk()
      const store = new EmbeddedCoordination(await disk.open('catalog'), systemClock)
      await store.commit({ when: [], changes: [putting('/a', '1'), putting('/b', '1')] })
      disk.crashAt(2, moment)
      const commit = { when: [], changes: [putting('/a', '2'), putting('/b', '2')] }
      const failed = await errorOf(() => store.commit(commit))
      disk.restart()

      await using again = new EmbeddedCoordination(await disk.open('catalog'), systemClock)
      const { entries, revision } = await again.list('')

      expect(failed).to.include({ code: 'UNAVAILABLE' })
      expect(revision).to.equal(moment === 'before' ? 1 : 2)
      expect(entries.map(({ value }) => value.toString())).to.deep.equal([
        `${revision}`,
        `${revision}`,
      ])
    })
  }

  it('ends watches as compacted when a failed commit took effect all the same', async () => {
    const backing = new MemoryKvStore()
    const store = new EmbeddedCoordination(
      {
        generation: 0,
        get: (key) => backing.get(key),
        pages: (range) => backing.pages(range),
        flush: () => backing.flush(),
        snapshot: () => backing.snapshot(),
        approximateBytes: (range) => backing.approximateBytes(range),
        close: () => backing.close(),
        [Symbol.asyncDispose]: () => backing.close(),
        write: async (ops, options) => {
          await backing.write(ops, options)
          if (ops.length > 2) throw new Error('the answer was lost')
        },
      },
      systemClock,
    )
    const { signal } = new AbortController()
    const events = Array.fromAsync(store.watch('', 1, signal))
    const lost = { when: [], changes: [putting('/a', '1'), putting('/b', '1')] }
    expect(await errorOf(() => store.commit(lost))).to.be.instanceOf(Error)

    const outcome = await store.commit({ when: [], changes: [putting('/c', '1')] })

    expect(outcome).to.deep.equal({ kind: 'committed', revision: 2 })
    expect(await events).to.deep.equal([{ kind: 'compacted' }])
    await store.close()
  })

  it('stores what docs/reference/formats/coordination.md says', async () => {
    const backing = new MemoryKvStore()
    await using store = new EmbeddedCoordination(backing, systemClock)
    await store.commit({ when: [], changes: [putting('/old', '')] })
    await store.commit({ when: [], changes: [putting('/a', 'value')] })
    await store.commit({ when: [], changes: [putting('/a', 'other')] })
    const lease = await store.grantLease(5)
    const leased = { ...putting('/leased', ''), lease: lease.id }
    await store.commit({ when: [], changes: [leased] })

    const stored = (await entriesOf(backing)).map(([key, value]) => [
      key.toString(),
      value.toString('hex'),
    ])

    expect(stored).to.deep.equal([
      ['c/a', '00000000000000020000000000000003'],
      ['e/a', '0000000000000003' + Buffer.from('other').toString('hex')],
      ['e/old', '0000000000000001'],
      ['r', '0000000000000004'],
    ])
  })

  it('mistrusts a creation record when an earlier program has written its entry', async () => {
    const backing = new MemoryKvStore()
    await using store = new EmbeddedCoordination(backing, systemClock)
    await store.commit({ when: [], changes: [putting('/a', '1')] })
    await store.commit({ when: [], changes: [putting('/a', '2')] })
    const key = Buffer.from('e/a')
    await backing.write([{ type: 'put', key, value: Buffer.from('0000000000000007', 'hex') }], {
      sync: true,
    })

    expect(await store.get('/a')).to.include({ createRevision: 7, modRevision: 7 })
  })

  it('numbers its commits without gaps, and those that change nothing not at all', async () => {
    await using store = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
    const committed = async (commit: Commit): Promise<unknown> => await store.commit(commit)
    const put = { when: [], changes: [putting('/a', '1')] }

    expect(await committed(put)).to.deep.equal({ kind: 'committed', revision: 1 })
    expect(await committed({ when: [], changes: [] })).to.have.property('revision', 1)
    const never = { when: [], changes: [{ type: 'delete' as const, key: '/never' }] }
    expect(await committed(never)).to.have.property('revision', 1)
    expect(await committed(put)).to.have.property('revision', 2)
  })

  describeLeases('embedded', openEmbeddedLeases)
  describeElections('embedded', openEmbeddedLeases)
})

describe('StoredTimestampBound', () => {
  it('begins at zero and keeps the last bound', async () => {
    await using store = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
    const bound = new StoredTimestampBound(store, 'n1')
    expect(await bound.load()).to.equal(TIMESTAMP_ZERO)

    for (const value of [5n, 0xffff_ffff_ffff_ffffn]) {
      await bound.save(timestampOf(value))
      expect(await bound.load()).to.equal(value)
    }
  })

  it('takes over the bound that all nodes shared, and removes it when it saves its own', async () => {
    await using store = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
    await store.commit({ when: [], changes: [putting('/clock/bound', '7')] })
    const bound = new StoredTimestampBound(store, 'n1')

    expect(await bound.load()).to.equal(7n)
    await bound.save(timestampOf(9n))

    const { entries } = await store.list('/clock/')
    const found = entries.map(({ key, value }) => `${key}=${value.toString()}`)
    expect(found).to.deep.equal(['/clock/bound/n1=9'])
  })

  it('is kept apart from that of another node', async () => {
    await using store = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
    await new StoredTimestampBound(store, 'n1').save(timestampOf(9n))

    expect(await new StoredTimestampBound(store, 'n2').load()).to.equal(TIMESTAMP_ZERO)
  })

  it('never goes back when two writers save it', async () => {
    await using store = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
    const one = new StoredTimestampBound(store, 'n1')
    const other = new StoredTimestampBound(store, 'n1')
    await Promise.all([one.load(), other.load()])

    await one.save(timestampOf(9n))
    await other.save(timestampOf(5n))
    const afterOther = await new StoredTimestampBound(store, 'n1').load()
    await one.save(timestampOf(12n))

    expect(afterOther).to.equal(9n)
    expect(await new StoredTimestampBound(store, 'n1').load()).to.equal(12n)
  })

  it('refuses a damaged bound instead of starting again at zero', async () => {
    await using store = new EmbeddedCoordination(new MemoryKvStore(), systemClock)
    await store.commit({ when: [], changes: [putting('/clock/bound/n1', '12x')] })

    const error = await errorOf(() => new StoredTimestampBound(store, 'n1').load())

    expect(error).to.include({ code: 'CORRUPTION' })
  })
})
