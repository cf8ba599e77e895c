import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { silentLog } from '../../../../lib/log.ts'
import { joinCluster, type Membership } from '../../../../node/cluster/membership.ts'
import { NodeIdentity } from '../../../../node/cluster/node-identity.ts'
import {
  decodeNode,
  decodeRegistration,
  encodeNode,
  liveKey,
  nodeKey,
} from '../../../../node/controller/core/records/cluster-codec.ts'
import type {
  NodeRecord,
  NodeRegistration,
} from '../../../../node/controller/core/records/node-record.ts'
import { EmbeddedCoordination } from '../../../../node/coordination/embedded-coordination.ts'
import { MemoryKvStore } from '../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../support/error-of.ts'
import { NodeStore } from '../../../support/worlds/node-store.ts'
import { passTime, passTimeUntil } from '../../../support/worlds/pass-time.ts'

const TTL_SECONDS = 3

describe('joinCluster', () => {
  let directory = ''
  let clock: ManualClock
  let common: EmbeddedCoordination
  const open: Membership[] = []
  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-membership-'))
    clock = new ManualClock()
    common = new EmbeddedCoordination(new MemoryKvStore(), clock)
  })
  afterEach(async () => {
    for (const membership of open.splice(0)) await membership.close()
    await common.close()
    await rm(directory, { recursive: true, force: true })
  })

  interface Start {
    readonly store?: NodeStore
    readonly identity?: NodeIdentity
    readonly peer?: string
    readonly zone?: string
  }

  const identify = (): Promise<NodeIdentity> => NodeIdentity.open({ path: directory, id: 'n1' })

  async function join({ store, identity, peer = 'a:1', zone = 'z' }: Start = {}) {
    const membership = await joinCluster(
      {
        coordination: store ?? new NodeStore(common),
        identity: identity ?? (await identify()),
        cluster: 'library',
        description: { zone, addresses: { peer, api: 'a:2' }, version: '1' },
        ttlSeconds: TTL_SECONDS,
        clock,
        log: silentLog,
        newClusterId: () => 'c1',
      },
      new AbortController().signal,
    )
    open.push(membership)
    return membership
  }

  /** Answers what the call answers, while time passes. */
  async function passing<Answer>(call: Promise<Answer>): Promise<Answer> {
    let isDone = false
    const settled = call.finally(() => (isDone = true))
    settled.catch(() => undefined) // the caller gets the error
    await passTimeUntil(clock, () => isDone)
    return settled
  }

  async function registration(): Promise<NodeRegistration | undefined> {
    const entry = await common.get(liveKey('n1'))
    return entry && decodeRegistration(entry.value)
  }

  async function record(): Promise<NodeRecord | undefined> {
    const entry = await common.get(nodeKey('n1'))
    return entry && decodeNode(entry.value)
  }

  it('creates the cluster and registers the first life', async () => {
    const identity = await identify()
    const membership = await join({ identity })

    expect(membership).to.include({ nodeId: 'n1', incarnation: 1, state: 'registered' })
    expect(identity.cluster).to.deep.equal({ name: 'library', id: 'c1' })
    expect(await registration()).to.deep.equal({
      id: 'n1',
      incarnation: 1,
      addresses: { peer: 'a:1', api: 'a:2' },
      version: '1',
      wholeSince: 1,
      isLeaving: false,
    })
    expect(await record()).to.deep.equal({
      id: 'n1',
      zone: 'z',
      addresses: { peer: 'a:1', api: 'a:2' },
      state: 'serving',
      incarnation: 1,
      operation: 'join/n1/1',
      registeredAtMs: Math.round(clock.nowMs()),
    })
  })

  it('says when it joined, in each of its lives', async () => {
    const joinedMs = Math.round(clock.nowMs())
    await (await join()).close()
    await passTime(clock, 60_000)

    await join()

    expect(await record()).to.include({ incarnation: 2, registeredAtMs: joinedMs })
  })

  it('does not say when it joined if its record does not', async () => {
    await (await join()).close()
    const before = await common.get(nodeKey('n1'))
    const { registeredAtMs: _, ...earlier } = decodeNode(before!.value)
    const value = encodeNode(earlier)
    await common.commit({ when: [], changes: [{ type: 'put', key: nodeKey('n1'), value }] })

    await join()

    expect(await record()).to.include({ incarnation: 2 })
    expect(await record()).to.not.have.property('registeredAtMs')
  })

  it('takes its registration away when it closes, and keeps its record', async () => {
    const membership = await join()
    await membership.leave()
    expect(await registration()).to.have.property('isLeaving', true)

    await membership.close()

    expect(await registration()).to.equal(undefined)
    expect(await record()).to.have.property('state', 'serving')
    expect(membership.state).to.equal('away')
  })

  it('keeps what operators want of it, and tells a new zone', async () => {
    await (await join()).close()
    const before = await common.get(nodeKey('n1'))
    const operations = { operationId: 'a', endedOperationId: 'b' }
    const hold = { untilMs: 1e12, ms: 1000 }
    const wanted = { state: 'draining' as const, ...operations, hold }
    const drained = { ...decodeNode(before!.value), ...wanted }
    await common.commit({
      when: [],
      changes: [{ type: 'put', key: nodeKey('n1'), value: encodeNode(drained) }],
    })

    await join({ zone: 'other' })

    expect(await record()).to.include({ state: 'draining', zone: 'other', incarnation: 2 })
    expect(await record())
      .to.include(operations)
      .and.not.have.property('hold')
  })

  it('refuses a decommissioned node', async () => {
    await (await join()).close()
    const before = await common.get(nodeKey('n1'))
    const value = encodeNode({ ...decodeNode(before!.value), state: 'decommissioned' })
    await common.commit({ when: [], changes: [{ type: 'put', key: nodeKey('n1'), value }] })

    const error = await errorOf(() => join())

    expect(error).to.include({ code: 'INVALID_ARGUMENT' })
    expect(error).to.have.property('message').that.contains('decommissioned')
    expect(await registration()).to.equal(undefined)
  })

  it('registers again in the same life when the store has ended its lease', async () => {
    const store = new NodeStore(common)
    const membership = await join({ store })
    const before = await common.get(liveKey('n1'))

    await store.expire()
    expect(membership.state).to.equal('away')
    expect(await registration()).to.equal(undefined)
    await passTimeUntil(clock, () => membership.state === 'registered')

    const after = await common.get(liveKey('n1'))
    expect(after?.createRevision).to.be.greaterThan(before?.createRevision ?? 0)
    expect(await registration()).to.include({ incarnation: 1, wholeSince: 1 })
  })

  it('registers again when somebody has deleted its registration', async () => {
    const membership = await join()

    await common.commit({ when: [], changes: [{ type: 'delete', key: liveKey('n1') }] })
    let found: NodeRegistration | undefined
    await passTimeUntil(clock, () => {
      void registration().then((now) => (found = now))
      return found !== undefined
    })

    expect(found).to.include({ incarnation: 1 })
    expect(membership.state).to.equal('registered')
  })

  it('stays away while the store is, and comes back in the same life', async () => {
    const store = new NodeStore(common)
    const membership = await join({ store })

    store.cut()
    await store.expire()
    await passTime(clock, 60_000)
    expect(membership.state).to.equal('away')
    store.heal()
    await passTimeUntil(clock, () => membership.state === 'registered')

    expect(await registration()).to.include({ incarnation: 1 })
    expect(membership.ended.aborted).to.equal(false)
  })

  it('registers one life although the answers get lost', async () => {
    const identity = await identify()
    const store = new NodeStore(common)
    await (await join({ store, identity })).close()
    const second = await identify()
    store.lostAnswers = 1
    const lost = await errorOf(() => join({ store, identity: second }))
    await passTime(clock, 1000)

    const membership = await passing(join({ store, identity: second }))

    expect(lost).to.include({ code: 'UNAVAILABLE' })
    expect(membership.state).to.equal('registered')
    expect((await registration())?.wholeSince).to.equal(1)
  })

  it('settles a lost answer while it runs without a new life', async () => {
    const store = new NodeStore(common)
    const membership = await join({ store })

    store.lostAnswers = 1
    const lost = await errorOf(() => membership.leave())
    await passTimeUntil(clock, () => membership.state === 'registered')

    expect(lost).to.include({ code: 'UNAVAILABLE' })
    expect(await registration()).to.include({ isLeaving: true, incarnation: 1, wholeSince: 1 })
  })

  it('takes the place of its own crashed life at once, because its address is its own', async () => {
    const crashed = new NodeStore(common)
    await join({ store: crashed })
    crashed.cut()

    const membership = await join()

    expect(membership.incarnation).to.equal(2)
    expect(await registration()).to.include({ incarnation: 2 })
    const next = await common.get(liveKey('n1'))
    await crashed.expire()
    expect(await common.get(liveKey('n1'))).to.deep.equal(next)
  })

  it('waits for the lease of a crashed life at another address', async () => {
    const crashed = new NodeStore(common)
    await join({ store: crashed })
    crashed.cut()

    const joining = join({ peer: 'b:1' })
    await passTime(clock, TTL_SECONDS * 1000)
    await crashed.expire()
    const membership = await passing(joining)

    expect(membership.incarnation).to.equal(2)
    expect((await registration())?.addresses.peer).to.equal('b:1')
  })

  it('can be asked to join again when its own lease ended while it waited', async () => {
    const crashed = new NodeStore(common)
    await join({ store: crashed })
    crashed.cut()
    const store = new NodeStore(common)
    const identity = await identify()

    const joining = errorOf(() => join({ store, identity, peer: 'b:1' }))
    await passTime(clock, TTL_SECONDS * 1000)
    await store.expire()
    await crashed.expire()
    const error = await passing(joining)
    const membership = await passing(join({ store, identity, peer: 'b:1' }))

    expect(error).to.include({ code: 'UNAVAILABLE' })
    expect(membership.state).to.equal('registered')
    expect((await registration())?.addresses.peer).to.equal('b:1')
  })

  it('refuses a copy of its directory while it is live, and is not disturbed by it', async () => {
    const original = await join()

    const error = await errorOf(() => passing(join({ peer: 'b:1' })))

    expect(error).to.include({ code: 'CONFLICT' })
    expect(error).to.have.property('message').that.contains('n1').and.contains('a:1')
    expect(original.state).to.equal('registered')
    expect((await registration())?.addresses.peer).to.equal('a:1')
  })

  it('ends when its successor has registered at the same name, as after a pod was deleted by force', async () => {
    const original = await join()

    const successor = await passing(join())
    await passTimeUntil(clock, () => original.ended.aborted)

    expect(original.ended.reason).to.include({ code: 'CONFLICT' })
    await original.close()
    expect(successor.state).to.equal('registered')
    expect(await registration()).to.include({ incarnation: successor.incarnation })
  })

  it('ends when a copy has taken its place while it was away', async () => {
    const store = new NodeStore(common)
    const original = await join({ store })
    store.cut()
    await store.expire()
    const copy = await passing(join({ peer: 'b:1' }))

    store.heal()
    await passTimeUntil(clock, () => original.ended.aborted)

    expect(original.state).to.equal('ended')
    expect(original.ended.reason).to.include({ code: 'CONFLICT' })
    await original.close()
    expect(copy.state).to.equal('registered')
    expect((await registration())?.addresses.peer).to.equal('b:1')
  })

  it('counts a directory that is older than the cluster has seen as damaged', async () => {
    await (await join()).close()
    await (await join()).close()
    await rm(path.join(directory, 'node.json')) // as a restored copy without it

    const error = await errorOf(() => join())
    const refused = await registration()
    const membership = await join()

    expect(error).to.include({ code: 'CONFLICT' })
    expect(error).to.have.property('message').that.contains('an older copy')
    expect(refused).to.equal(undefined)
    expect(membership.incarnation).to.equal(4)
    expect(await registration()).to.include({ incarnation: 4, wholeSince: 3 })
    expect(await record()).to.include({ incarnation: 4 })
  })

  it('ends when a later life has come and gone while it was away', async () => {
    const store = new NodeStore(common)
    const original = await join({ store })
    store.cut()
    await store.expire()
    await (await passing(join({ peer: 'b:1' }))).close()

    store.heal()
    await passTimeUntil(clock, () => original.ended.aborted)

    expect(original.ended.reason).to.have.property('message').that.contains('an older copy')
    expect(await registration()).to.equal(undefined)
  })

  it('tells damage that is found before it joins, and while it runs', async () => {
    const identity = await identify()
    await identity.markDamaged(identity.incarnation)
    const membership = await join({ identity })
    expect((await registration())?.wholeSince).to.equal(1)

    await membership.markDamaged()

    expect((await registration())?.wholeSince).to.equal(2)
  })

  it('rejects when the store cannot be asked', async () => {
    const store = new NodeStore(common)
    store.cut(new ServiceError('UNAVAILABLE', 'nobody answers'))

    expect(await errorOf(() => join({ store }))).to.include({ code: 'UNAVAILABLE' })
  })
})
