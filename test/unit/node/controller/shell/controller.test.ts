import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import {
  configurationKey,
  decodeNode,
  encodeNode,
  nodeKey,
} from '../../../../../node/controller/core/records/cluster-codec.ts'
import { reportCluster } from '../../../../../node/controller/core/cluster-report.ts'
import { requestTransfer } from '../../../../../node/controller/core/operator-requests.ts'
import type { NodeState } from '../../../../../node/controller/core/records/node-record.ts'
import type { ControllerOptions } from '../../../../../node/controller/shell/controller.ts'
import type { Controller } from '../../../../../node/controller/shell/controller.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { plantCopy } from '../../../../support/simulation/planted-copy.ts'
import { NodeStore } from '../../../../support/worlds/node-store.ts'
import { passTime, passTimeUntil } from '../../../../support/worlds/pass-time.ts'
import { createTable, StubNode } from '../../../../support/worlds/stub-node.ts'

const TTL_SECONDS = 5
const NAMES = ['n1', 'n2', 'n3']

interface Member {
  readonly node: StubNode
  readonly store: NodeStore
}

describe('Controller', () => {
  let root = ''
  let clock: ManualClock
  let common: EmbeddedCoordination
  let members: Member[]
  beforeEach(async () => {
    root = await mkdtemp(path.join(tmpdir(), 'quarry-controller-'))
    clock = new ManualClock()
    common = new EmbeddedCoordination(new MemoryKvStore(), clock)
    members = []
  })
  afterEach(async () => {
    for (const { node, store } of members) {
      store.heal()
      await during(node.stop())
    }
    await common.close()
    await rm(root, { recursive: true, force: true })
  })

  async function during<Answer>(work: Promise<Answer>): Promise<Answer> {
    let isDone = false
    const settled = work.finally(() => (isDone = true))
    settled.catch(() => undefined) // the caller gets the error
    await passTimeUntil(clock, () => isDone)
    return settled
  }

  async function start(
    id: string,
    more: Partial<Parameters<typeof StubNode.start>[0]> = {},
  ): Promise<Member> {
    const store = new NodeStore(common)
    const options = { id, coordination: store, clock, root, ttlSeconds: TTL_SECONDS, ...more }
    const member = { node: await during(StubNode.start(options)), store }
    members.push(member)
    return member
  }

  async function startAll(names: readonly string[] = NAMES): Promise<void> {
    for (const name of names) await start(name)
    await passTimeUntil(clock, () => elected() !== undefined)
  }

  const elected = (): Member | undefined =>
    members.find(({ node }) => node.controller.elected?.isReady === true)

  const others = (): readonly Member[] => members.filter((member) => member !== elected())

  /** Every shard has a leader that lives, and so many replicas in sync; of three, no other ones. */
  function isPlaced(shards: number, factor = 3): boolean {
    const seen = elected()?.node.map ?? members[0]!.node.map
    const all = [...seen.shards().values()]
    return (
      all.length === shards &&
      all.every(({ leader, inSync, replicas }) => {
        const lives = seen.node(leader?.node ?? '')?.registration?.incarnation
        return (
          leader !== undefined &&
          lives === leader.incarnation &&
          inSync.length >= factor &&
          (factor < 3 || replicas.length === inSync.length)
        )
      })
    )
  }

  async function setState(id: string, state: NodeState): Promise<void> {
    const entry = await common.get(nodeKey(id))
    const value = encodeNode({ ...decodeNode(entry!.value), state })
    await common.commit({ when: [], changes: [{ type: 'put', key: nodeKey(id), value }] })
  }

  it('is elected once, and places the shards of a new table', async () => {
    await startAll()
    await createTable(common, 't', 12)
    await passTimeUntil(clock, () => isPlaced(12))

    expect(members.filter(({ node }) => node.controller.elected !== undefined)).to.have.length(1)
    expect(members.map(({ node }) => node.load)).to.deep.equal(
      NAMES.map(() => ({ leads: 4, holds: 12 })),
    )
    expect(members.map(({ node }) => node.map.controller())).to.deep.equal(
      NAMES.map(() => elected()?.node.id),
    )
  })

  it('names other leaders when the lease of a node ends', async () => {
    await startAll()
    await createTable(common, 't', 12)
    await passTimeUntil(clock, () => isPlaced(12))
    const [victim] = others()
    const before = clock.monotonicMs()

    victim!.store.cut()
    await victim!.store.expire()
    const survivors = members.filter((member) => member !== victim)
    const map = survivors[0]!.node.map
    await passTimeUntil(clock, () =>
      [...map.shards().values()].every(({ leader }) => leader?.node !== victim!.node.id),
    )

    expect(clock.monotonicMs() - before).to.be.below(2000)
    expect(survivors.map(({ node }) => node.load.leads)).to.deep.equal([6, 6])
  })

  it('is followed by another one when it is cut off, and changes nothing after that', async () => {
    await startAll()
    await createTable(common, 't', 6)
    await passTimeUntil(clock, () => isPlaced(6))
    const first = elected()!

    first.store.cut()
    await first.store.expire()
    await passTimeUntil(clock, () => elected() !== undefined && elected() !== first)
    await createTable(common, 'u', 6)
    await passTimeUntil(clock, () => isPlaced(12, 2))

    expect(first.node.controller.elected).to.equal(undefined)
    const tokens = members.map(({ node }) => node.map.controller())
    expect(tokens.filter((id) => id === elected()!.node.id)).to.have.length(2)
  })

  it('campaigns again after it was cut off', async () => {
    const { store } = await start('n1')
    await passTimeUntil(clock, () => elected() !== undefined)

    store.cut()
    await store.expire()
    await passTimeUntil(clock, () => elected() === undefined)
    store.heal()
    await passTimeUntil(clock, () => elected() !== undefined)
  })

  it('hands over at once when it closes', async () => {
    await startAll()
    const first = elected()!
    const before = clock.monotonicMs()

    await during(first.node.controller.close())
    await passTimeUntil(clock, () => elected() !== undefined)

    expect(elected()).to.not.equal(first)
    expect(clock.monotonicMs() - before).to.be.below(2000)
  })

  it('changes nothing by a leadership that has ended without its knowledge', async () => {
    await startAll()
    await createTable(common, 't', 4)
    await passTimeUntil(clock, () => isPlaced(4))
    const first = elected()!
    const key = first.node.controller.elected!.fenceKey

    // Somebody deletes its key, and it hears of nothing.
    first.store.holdWatches()
    await common.commit({ when: [], changes: [{ type: 'delete', key }] })
    await passTimeUntil(clock, () => members.some((each) => each !== first && isElected(each)))
    await createTable(common, 'u', 4)
    first.store.releaseWatches()
    first.store.commits.length = 0
    await passTimeUntil(clock, () => isPlaced(8))

    const fenced = first.store.commits.filter(({ when }) => when.some((each) => each.key === key))
    expect(fenced.length).to.be.below(9) // those that were under way, at most
    expect(first.node.controller.elected).to.equal(undefined)
  })

  const isElected = ({ node }: Member): boolean => node.controller.elected?.isReady === true

  it('ends a drain: the node holds nothing', async () => {
    await startAll([...NAMES, 'n4'])
    await createTable(common, 't', 8)
    await passTimeUntil(clock, () => isPlaced(8))
    const victim = members.find(({ node }) => node.load.holds > 0)!

    await setState(victim.node.id, 'draining')
    await passTimeUntil(clock, () => victim.node.load.holds === 0)

    expect(victim.node.load).to.deep.equal({ leads: 0, holds: 0 })
    await passTimeUntil(clock, () => isPlaced(8))
    const report = elected()!.node.controller.elected!.show(reportCluster)
    const drained = report.nodes.find(({ id }) => id === victim.node.id)
    expect(drained?.emptying).to.include({ isDone: true, replicasLeft: 0 })
    expect(report.moves).to.deep.equal([])
  })

  it('takes away the configurations of a table that was dropped', async () => {
    await startAll()
    await createTable(common, 't', 3)
    await passTimeUntil(clock, () => isPlaced(3))

    const { entries } = await common.list('/table-shards/')
    const keys = ['/tables/t', ...entries.map(({ key }) => key)]
    await common.commit({ when: [], changes: keys.map((key) => ({ type: 'delete', key })) })

    await passTimeUntil(clock, () => members[0]!.node.map.shards().size === 0)
  })

  it('freezes when the store went back, and says so', async () => {
    await startAll()
    await createTable(common, 't', 3)
    await passTimeUntil(clock, () => isPlaced(3))
    const first = elected()!
    const controller = first.node.controller.elected!

    first.store.commit = async () => {
      throw new ServiceError('CORRUPTION', 'etcd went back from revision 9 to 3')
    }
    await createTable(common, 'u', 3)
    await passTimeUntil(clock, () => controller.frozen !== undefined)
    let sent = 0
    first.store.commit = async () => {
      sent += 1
      throw new ServiceError('UNAVAILABLE', 'not asked')
    }
    await passTime(clock, 20_000)

    expect(controller.frozen).to.contain('went back')
    expect(sent).to.equal(0)
    expect(await errorOf(() => controller.show(reportCluster))).to.include({ code: 'UNAVAILABLE' })
  })

  it('freezes when the map of its node is frozen, and does not campaign again', async () => {
    const { node, store } = await start('n1')
    await passTimeUntil(clock, () => elected() !== undefined)
    const controller = node.controller.elected!
    store.get = async () => {
      throw new ServiceError('CORRUPTION', 'etcd went back from revision 9 to 3')
    }
    await passTimeUntil(clock, () => controller.frozen !== undefined)

    await store.expire()
    store.get = (key) => common.get(key)
    await passTimeUntil(clock, () => node.controller.elected === undefined)
    await createTable(common, 't', 1)
    await passTime(clock, 20_000)

    expect(node.controller.elected).to.equal(undefined)
    expect(node.controller.frozen).to.contain('went back')
    expect(node.map.shards().size).to.equal(0)
  })

  it('makes a change once although its answer is lost', async () => {
    await startAll()
    const first = elected()!
    first.store.lostAnswers = 2
    await createTable(common, 't', 4)
    await passTimeUntil(clock, () => isPlaced(4))

    expect(first.store.lostAnswers).to.equal(0)
    const epochs = [...first.node.map.shards().values()].map(({ epoch }) => epoch)
    expect(epochs).to.deep.equal([1, 1, 1, 1])
  })

  /** The number of conflicts until the controller has met a shard that it does not know yet. */
  async function conflictsOf(make?: (options: ControllerOptions) => Controller): Promise<number> {
    await start('n1', make === undefined ? {} : { makeController: make })
    await start('n2')
    await start('n3')
    await passTimeUntil(clock, () => elected() === members[0])
    await createTable(common, 't', 1)
    await passTimeUntil(clock, () => isPlaced(1))
    const { store, node } = members[0]!
    const led = [...node.map.shards().values()][0]!
    // The configuration changes while the controller hears nothing, and then its leader leaves.
    const victim = led.leader!.node
    let conflicts = 0
    const key = configurationKey('t/s0')
    store.holdWatches()
    const entry = await common.get(key)
    await common.commit({
      when: [],
      changes: [{ type: 'put', key, value: entry!.value }],
    })
    store.commit = async (commit) => {
      const outcome = await common.commit(commit)
      if (outcome.kind === 'conflict') conflicts += 1
      return outcome
    }
    const { elected: controller } = node.controller
    const to = led.inSync.find((member) => member.node !== victim)!.node
    for (let asked = 0; asked < 5; asked++) {
      const refused = await controller!.request((cluster) =>
        requestTransfer(cluster, { path: 't/s0', to }),
      )
      if (refused === undefined) break
    }
    store.releaseWatches()
    return conflicts
  }

  it('observes what a conflict shows before it plans again', async () => {
    expect(await conflictsOf()).to.equal(1)
  })

  it('would repeat a conflict if it did not: a planted defect', async () => {
    const load = plantCopy(
      {
        copied: ['node/controller/shell'],
        linked: [
          'lib',
          'node/controller/core',
          'node/cluster',
          'node/coordination',
          'node/replication',
        ],
      },
      {
        file: 'elected-controller.ts',
        text: '      this.#observe({ key: entry.key, entry, revision: entry.modRevision }) // CS2\n',
        instead: '      void entry\n',
      },
    )
    const planted = await load<{ Controller: typeof Controller }>(
      'node/controller/shell/controller.ts',
    )

    expect(await conflictsOf((options) => new planted.Controller(options))).to.equal(5)
  })
})
