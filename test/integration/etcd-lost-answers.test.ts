import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import type { Coordination } from '../../node/coordination/coordination.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import type { EtcdOptions } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { always, putting, revisionOf } from '../conformance/coordination.ts'
import { errorOf } from '../support/error-of.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import type { FaultProxy } from '../support/servers/fault-proxy.ts'
import { until } from '../support/until.ts'
import { CoordinationRecorder } from '../support/worlds/coordination-recorder.ts'

const TIMING = { attemptTimeoutMs: 400, callTimeoutMs: 5000, watchIdleMs: 300 }
/** A call may end late when the machine is busy. Without a deadline of its own it would take minutes. */
const LATE_MS = 30_000
/** A client sends less than this without a request: acknowledgements, windows, pings. */
const OTHER_FRAMES_BYTES = 60

// One etcd process by two ways: the first is broken by the tests.
describe('EtcdCoordination and lost messages', () => {
  let etcd: EtcdCluster
  let proxy: FaultProxy
  let direct: Coordination
  let clusters = 0
  let cluster = ''
  before(async () => {
    etcd = await EtcdCluster.start({ members: 1 })
    proxy = etcd.members[0]!.proxy
  })
  beforeEach(async () => {
    cluster = `cluster-${(clusters += 1)}`
    direct = await open({ owner: 'observer', endpoints: etcd.directEndpoints })
  })
  afterEach(async () => {
    await direct.close()
    etcd.heal()
  })
  after(() => etcd[Symbol.asyncDispose]())

  const open = (options: Partial<EtcdOptions> = {}): Promise<Coordination> =>
    openEtcdCoordination({
      endpoints: [...etcd.endpoints, ...etcd.directEndpoints],
      cluster,
      owner: 'node-1',
      clock: systemClock,
      random: () => 0, // begins with the first endpoint
      timing: TIMING,
      ...options,
    })

  /** A store that has committed once, so that its connection and its mark are there. */
  async function openWarm(options: Partial<EtcdOptions> = {}): Promise<Coordination> {
    const store = await open(options)
    await store.commit(always(putting('/warm')))
    return store
  }

  async function recorderOf(prefix: string): Promise<CoordinationRecorder> {
    const { revision } = await direct.list('')
    return new CoordinationRecorder(direct, prefix, revision + 1)
  }

  it('finds a commit whose answer was lost by its operation id', async () => {
    await using store = await openWarm()
    await using recorder = await recorderOf('/a')
    proxy.set({ toClient: 'drop' })

    // Sent again without looking, it would be a conflict with itself.
    const create = { when: [{ key: '/a', modRevision: 0 }], changes: [putting('/a', 'once')] }
    const revision = revisionOf(await store.commit(create))

    expect(await direct.get('/a')).to.include({ createRevision: revision, modRevision: revision })
    await store.commit(always(putting('/a', 'end')))
    await until(async () => recorder.values.includes('end'))
    expect(recorder.values).to.deep.equal(['once', 'end'])
  })

  it('sends a lost commit again, and the lost one changes nothing when it arrives late', async () => {
    await using store = await openWarm()
    await using recorder = await recorderOf('/a')
    proxy.set({ toServer: 'hold', toClient: 'drop' })
    const commit = store.commit(always(putting('/a', 'once')))
    await until(async () => proxy.heldToServer > 0)
    proxy.set({ toServer: 'drop', toClient: 'drop' })
    const revision = revisionOf(await commit)

    proxy.release()
    await until(async () => proxy.droppedToClient > 0)

    expect(await direct.get('/a')).to.include({ modRevision: revision })
    await store.commit(always(putting('/a', 'end')))
    await until(async () => recorder.values.includes('end'))
    expect(recorder.values).to.deep.equal(['once', 'end'])
  })

  it('answers a conflict of a lost commit only when the lost one cannot happen any more', async () => {
    await using store = await openWarm()
    const held = revisionOf(await direct.commit(always(putting('/a', 'held'))))
    proxy.set({ toServer: 'hold', toClient: 'drop' })
    const commit = store.commit({
      when: [{ key: '/a', modRevision: 0 }],
      changes: [putting('/a', 'late')],
    })
    await until(async () => proxy.heldToServer > 0)
    proxy.set({ toServer: 'drop', toClient: 'drop' })
    const outcome = await commit
    await direct.commit({ when: [], changes: [{ type: 'delete', key: '/a' }] })

    proxy.release() // now its condition would hold
    await until(async () => proxy.droppedToClient > 0)

    expect(outcome.kind === 'conflict' && outcome.entries[0]?.modRevision).to.equal(held)
    expect(await direct.get('/a')).to.equal(undefined)
  })

  for (const lost of ['toServer', 'toClient'] as const) {
    it(`says that an outcome is unknown when nothing passes ${lost}, and recovers`, async () => {
      await using store = await openWarm({
        endpoints: etcd.endpoints,
        timing: { ...TIMING, callTimeoutMs: 3000 },
      })
      await using recorder = await recorderOf('/a')
      proxy.set({ [lost]: 'drop' })
      const error = await errorOf(() => store.commit(always(putting('/a', 'unknown'))))
      proxy.heal()

      const revision = revisionOf(await store.commit(always(putting('/a', 'known'))))

      expect(error).to.include({ code: 'UNAVAILABLE' })
      expect(await direct.get('/a')).to.include({ modRevision: revision })
      await until(async () => recorder.values.includes('known'))
      const before = lost === 'toServer' ? [] : ['unknown']
      expect(recorder.values).to.deep.equal([...before, 'known'])
    })
  }

  it('meets its deadline on a connection that is a black hole', async () => {
    const timing = { ...TIMING, callTimeoutMs: 3000 }
    await using store = await openWarm({ endpoints: etcd.endpoints, timing })
    proxy.blackHole()
    const calls: Record<string, () => Promise<unknown>> = {
      get: () => store.get('/a'),
      list: () => store.list(''),
      commit: () => store.commit(always(putting('/a'))),
      'commit of conditions': () =>
        store.commit({ when: [{ key: '/a', modRevision: 0 }], changes: [] }),
      grantLease: () => store.grantLease(5),
    }

    const startMs = systemClock.monotonicMs()
    const codes = await Promise.all(
      Object.entries(calls).map(async ([name, call]) => [name, await errorOf(call)] as const),
    )
    const tookMs = systemClock.monotonicMs() - startMs

    for (const [name, error] of codes) expect(error, name).to.include({ code: 'UNAVAILABLE' })
    expect(tookMs).to.be.within(2800, timing.callTimeoutMs + LATE_MS)
  })

  it('is told when it is opened on a black hole', async () => {
    proxy.blackHole()
    const timing = { ...TIMING, callTimeoutMs: 500 }

    const error = await errorOf(() => open({ endpoints: etcd.endpoints, timing }))

    expect(error).to.include({ code: 'UNAVAILABLE' })
  })

  it('continues a watch over broken connections without a gap or a repetition', async () => {
    await using store = await open()
    const { revision } = await direct.list('')
    await using recorder = new CoordinationRecorder(store, '/a', revision + 1)
    const expected = Array.from({ length: 60 }, (_, index) => `${index}`)
    for (const value of expected) {
      await direct.commit(always(putting('/a', value)))
      if (Number(value) % 10 === 5) proxy.cut()
    }

    await until(async () => recorder.values.length >= expected.length)

    expect(recorder.values).to.deep.equal(expected)
    expect(recorder.compacted).to.equal(0)
  })

  it('leaves a black hole of a watch by itself', async () => {
    await using store = await open()
    const { revision } = await direct.list('')
    await using recorder = new CoordinationRecorder(store, '/a', revision + 1)
    await direct.commit(always(putting('/a', 'before')))
    await until(async () => recorder.values.length === 1)

    proxy.blackHole()
    await direct.commit(always(putting('/a', 'behind')))

    await until(async () => recorder.values.length === 2)
    expect(recorder.values).to.deep.equal(['before', 'behind'])
  })

  it('tells a slow watcher that the past was compacted', async () => {
    await using store = await open({ endpoints: etcd.endpoints })
    const { revision } = await direct.list('')
    await using recorder = new CoordinationRecorder(store, '/a', revision + 1)
    await direct.commit(always(putting('/a', 'seen')))
    await until(async () => recorder.values.length === 1)
    proxy.blackHole()
    await direct.commit(always(putting('/a', 'missed')))
    const last = revisionOf(await direct.commit(always(putting('/a', 'last'))))
    await etcd.compact(last)
    proxy.heal()

    await until(async () => recorder.compacted === 1)

    expect(recorder.values).to.deep.equal(['seen'])
  })

  it('begins a long listing again when its state is compacted', async () => {
    await using store = await open({ endpoints: etcd.endpoints })
    for (let page = 0; page < 4; page += 1) {
      const puts = Array.from({ length: 100 }, (_, index) => putting(`/k/${page}-${index}`))
      await direct.commit(always(...puts))
    }
    proxy.set({ toServer: 'hold' })
    const listing = store.list('/k/')
    await until(async () => proxy.heldToServer > OTHER_FRAMES_BYTES)
    proxy.release()
    await until(async () => proxy.heldToServer > OTHER_FRAMES_BYTES)
    await etcd.compact(revisionOf(await direct.commit(always(putting('/k/new')))))
    proxy.set({})
    proxy.release()

    const { entries, revision } = await listing
    expect(entries).to.have.length(401)
    expect(entries.every(({ modRevision }) => modRevision <= revision)).to.equal(true)
  })

  it('ends the commits of an earlier process under the same id', async () => {
    await using earlier = await openWarm()
    await using later = await openWarm()

    const error = await errorOf(() => earlier.commit(always(putting('/a', 'earlier'))))

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(await later.get('/a')).to.equal(undefined)
    expect(await later.commit(always(putting('/a', 'later')))).to.have.property('kind', 'committed')
  })
})
