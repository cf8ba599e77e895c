import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import type { CommitOutcome, Coordination } from '../../node/coordination/coordination.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import type { EtcdOptions } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { leased } from '../conformance/coordination-leases.ts'
import { always, putting, revisionOf } from '../conformance/coordination.ts'
import { errorOf } from '../support/error-of.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import type { EtcdProcess } from '../support/processes/etcd-cluster.ts'
import { until } from '../support/until.ts'
import { CoordinationRecorder } from '../support/worlds/coordination-recorder.ts'

/** A call outlasts an election of etcd's leader, also on a busy machine. */
const TIMING = { attemptTimeoutMs: 700, callTimeoutMs: 15_000, watchIdleMs: 500 }

// Three members that are killed, stopped and cut off while stores use them.
describe('EtcdCoordination while etcd fails', () => {
  let etcd: EtcdCluster
  let clusters = 0
  let cluster = ''
  before(async () => {
    etcd = await EtcdCluster.start({ members: 3 })
  })
  beforeEach(() => {
    cluster = `cluster-${(clusters += 1)}`
  })
  afterEach(() => etcd.heal())
  after(() => etcd[Symbol.asyncDispose]())

  const open = (options: Partial<EtcdOptions> = {}): Promise<Coordination> =>
    openEtcdCoordination({
      endpoints: etcd.endpoints,
      cluster,
      owner: 'node-1',
      clock: systemClock,
      random: () => 0, // begins with the first endpoint
      timing: TIMING,
      ...options,
    })

  /** The leader's endpoint comes first, so that every store begins there. */
  function endpointsFrom(first: EtcdProcess): readonly string[] {
    const at = etcd.members.indexOf(first)
    return [...etcd.endpoints.slice(at), ...etcd.endpoints.slice(0, at)]
  }

  it('applies each commit once while members are killed, and knows or says what it does not', async () => {
    const leader = await etcd.leader()
    const victims = [leader, ...etcd.members.filter((member) => member !== leader)].slice(0, 2)
    await using observer = await open({ owner: 'observer' })
    const { revision } = await observer.list('')
    await using recorder = new CoordinationRecorder(observer, '/log', revision + 1)
    const over = new AbortController()
    let done = 0
    const committed = new Map<string, number>()
    const unknown = new Set<string>()
    const write = async (owner: string): Promise<void> => {
      await using store = await open({ owner, endpoints: endpointsFrom(leader) })
      for (let index = 0; !over.signal.aborted; index += 1) {
        const value = `${owner}.${index}`
        const outcome = await outcomeOf(store.commit(always(putting('/log', value))))
        if (outcome === undefined) unknown.add(value)
        else committed.set(value, revisionOf(outcome))
        done += 1
      }
    }
    const writing = Promise.all(['node-1', 'node-2'].map(write))
    for (const victim of victims) {
      const before = done
      await until(async () => done >= before + 20)
      await victim.kill()
      const after = done
      await until(async () => done >= after + 20)
      await victim.start()
    }
    over.abort()
    await writing
    await observer.commit(always(putting('/log', 'end')))
    await until(async () => recorder.values.includes('end'))

    const seen = recorder.values.slice(0, -1)
    expect(recorder.compacted).to.equal(0)
    expect(new Set(seen).size, 'each at most once').to.equal(seen.length)
    expect([...committed.keys()].filter((value) => !seen.includes(value))).to.deep.equal([])
    expect(seen.filter((value) => !committed.has(value) && !unknown.has(value))).to.deep.equal([])
    const revisions = seen.map((value, index) => committed.get(value) ?? recorder.revisions[index])
    expect(revisions).to.deep.equal(recorder.revisions.slice(0, -1))
  })

  it('outlives a leader of etcd that stops and wakes up', async () => {
    const leader = await etcd.leader()
    const endpoints = endpointsFrom(leader)
    await using store = await open({ endpoints })
    await using observer = await open({ owner: 'observer', endpoints: endpoints.slice(1) })
    await store.commit(always(putting('/a', 'before')))
    const { revision } = await observer.list('')
    await using recorder = new CoordinationRecorder(observer, '/a', revision + 1)

    leader.pause()
    const during = await store.commit(always(putting('/a', 'during')))
    leader.resume()
    await store.commit(always(putting('/a', 'after')))
    await until(async () => recorder.values.includes('after'))

    expect(recorder.values).to.deep.equal(['during', 'after'])
    expect(recorder.revisions[0]).to.equal(revisionOf(during))
  })

  it('keeps a lease by other members when its own is a black hole', async () => {
    const [first] = etcd.members
    await using store = await open()
    await using observer = await open({ owner: 'observer', endpoints: etcd.endpoints.slice(1) })
    const lease = await store.grantLease(5)
    await store.commit(always(leased('/node', lease)))

    first!.proxy.blackHole()
    const before = lease.heldUntilMs
    await until(async () => lease.lost.aborted || lease.heldUntilMs > before + 3100)

    expect(lease.lost.reason).to.equal(undefined)
    expect(await observer.get('/node')).to.have.property('key', '/node')
  })

  it('keeps a lease over an election of etcd itself', async () => {
    const leader = await etcd.leader()
    await using store = await open({ endpoints: endpointsFrom(leader) })
    const lease = await store.grantLease(6)
    await store.commit(always(leased('/node', lease)))

    await leader.kill()
    const before = lease.heldUntilMs
    await until(async () => lease.lost.aborted || lease.heldUntilMs > before + 4000)
    await leader.start()

    expect(lease.lost.reason).to.equal(undefined)
    expect(await store.get('/node')).to.have.property('key', '/node')
  })

  it('refuses while there is no majority, and continues when there is one again', async () => {
    const leader = await etcd.leader()
    const others = etcd.members.filter((member) => member !== leader)
    const timing = { ...TIMING, callTimeoutMs: 2500 }
    await using store = await open({ endpoints: endpointsFrom(leader), timing })
    const { revision } = await store.list('')
    await using recorder = new CoordinationRecorder(store, '/a', revision + 1)
    await Promise.all(others.map((member) => member.kill()))

    const [read, written] = await Promise.all([
      errorOf(() => store.get('/a')),
      errorOf(() => store.commit(always(putting('/a', 'unknown')))),
    ])
    await Promise.all(others.map((member) => member.start()))
    await until(async () => (await outcomeOf(store.get('/a').then(() => true))) === true)
    await store.commit(always(putting('/a', 'again')))
    await until(async () => recorder.values.includes('again'))

    expect(read).to.include({ code: 'UNAVAILABLE' })
    expect(written).to.include({ code: 'UNAVAILABLE' })
    const unknown = recorder.values.filter((value) => value === 'unknown')
    expect(unknown.length).to.be.at.most(1)
    expect(recorder.values).to.deep.equal([...unknown, 'again'])
  })
})

/** What the work answers, or undefined if it says that nobody knows. */
async function outcomeOf<Outcome = CommitOutcome>(
  work: Promise<Outcome>,
): Promise<Outcome | undefined> {
  try {
    return await work
  } catch (error) {
    expect(error).to.include({ code: 'UNAVAILABLE' })
    return undefined
  }
}
