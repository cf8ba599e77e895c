import { expect } from 'chai'
import { reportCluster } from '../../../../../node/controller/core/cluster-report.ts'
import { ControllerCore } from '../../../../../node/controller/core/controller-core.ts'
import {
  requestMove,
  requestTransfer,
} from '../../../../../node/controller/core/operator-requests.ts'
import {
  configurationKey,
  decodeConfiguration,
  moveKey,
} from '../../../../../node/controller/core/records/cluster-codec.ts'
import type { NodeState } from '../../../../../node/controller/core/records/node-record.ts'
import type { ShardConfiguration } from '../../../../../node/replication/core/configuration.ts'

const FENCE = { key: '/cluster/controller', modRevision: 7 }
const PATH = 't/s'
const CATALOG = { key: '/table-shards/t/s', modRevision: 3 }
const LATER_MS = 60_000

/** A controller that has seen these nodes, each alone in its zone unless they are told. */
function controllerOf(nodes: readonly string[], zones: readonly string[] = nodes): ControllerCore {
  const core = new ControllerCore({ name: 'c', fence: FENCE })
  for (const [at, id] of nodes.entries()) {
    setState(core, id, { state: 'serving', zone: zones[at] ?? '' })
    register(core, id)
  }
  core.listed(20)
  return core
}

function setState(
  core: ControllerCore,
  id: string,
  { state, zone = id, revision = 10 }: { state: NodeState; zone?: string; revision?: number },
): void {
  const record = { id, zone, state, incarnation: 1, operation: 'o' }
  core.observe({ kind: 'node', id, record, revision }, 0)
}

function register(
  core: ControllerCore,
  id: string,
  { incarnation = 1, wholeSince = 1, revision = 11, nowMs = 0 } = {},
): void {
  const addresses = { peer: '', api: '' }
  const record = { id, incarnation, addresses, version: '1', wholeSince, isLeaving: false }
  core.observe({ kind: 'live', id, record, revision }, nowMs)
}

function shardOn(
  core: ControllerCore,
  nodes: readonly string[],
  more: Partial<ShardConfiguration> = {},
): void {
  const inSync = nodes.map((node) => ({ node, incarnation: 1 }))
  const configuration = {
    revision: 15,
    epoch: 1,
    leader: inSync[0],
    replicas: nodes,
    inSync,
    eligible: [],
    minInSync: 2,
    operation: 'o',
    ...more,
  }
  core.observe({ kind: 'catalog', path: PATH, entry: CATALOG }, 0)
  core.observe({ kind: 'configuration', path: PATH, configuration, revision: 15 }, 0)
}

function configurationIn(core: ControllerCore, nowMs: number): ShardConfiguration | undefined {
  for (const { commit } of core.plan(nowMs)) {
    for (const change of commit.changes) {
      if (change.type === 'put' && change.key === configurationKey(PATH)) {
        return decodeConfiguration(change.value, 0)
      }
    }
  }
  return undefined
}

describe('ControllerCore', () => {
  it('plans nothing before the store was listed, and nothing after it went back', () => {
    const core = new ControllerCore({ name: 'c', fence: FENCE })
    setState(core, 'n1', { state: 'serving' })
    register(core, 'n1')
    core.observe({ kind: 'catalog', path: PATH, entry: CATALOG }, 0)

    expect(core.plan(0)).to.deep.equal([])

    core.listed(20)
    core.listed(19)
    expect(core.plan(0)).to.deep.equal([])
    expect(core.frozen).to.match(/went back from revision 20 to 19/)
  })

  it('places a new shard on the condition that all is as it was seen', () => {
    const core = controllerOf(['n1', 'n2', 'n3', 'n4'], ['a', 'a', 'b', 'c'])
    core.observe({ kind: 'catalog', path: PATH, entry: CATALOG }, 0)

    const [change] = core.plan(0)

    expect(change?.changes[0]?.reason).to.equal('a new shard: 3 replicas')
    expect(change?.commit.when).to.deep.include.members([
      FENCE,
      CATALOG,
      { key: configurationKey(PATH), modRevision: 0 },
      { key: moveKey(PATH), modRevision: 0 },
      { key: '/cluster/live/n4', modRevision: 11 },
      { key: '/cluster/nodes/n4', modRevision: 10 },
    ])
    const [put] = change?.commit.changes ?? []
    const placed = decodeConfiguration(put?.type === 'put' ? put.value : Buffer.of(), 0)
    expect(placed.replicas).to.include.members(['n3', 'n4'])
    expect(placed.inSync).to.have.length(3)
    expect(core.plan(1000)).to.deep.equal([])
  })

  it('drops members that are gone when it names a leader, as long as enough stay', () => {
    const core = controllerOf(['n1', 'n2', 'n3'])
    shardOn(core, ['n1', 'n2', 'n3'])
    core.observe({ kind: 'live', id: 'n1', record: undefined, revision: 16 }, 1000)

    const configuration = configurationIn(core, 1000)

    expect(configuration?.epoch).to.equal(2)
    expect(configuration?.inSync.map(({ node }) => node)).to.have.members(['n2', 'n3'])
    expect(configuration?.eligible).to.deep.equal([])
  })

  it('keeps members that are gone eligible when too few stay', () => {
    const core = controllerOf(['n1', 'n2'])
    shardOn(core, ['n1', 'n2'])
    core.observe({ kind: 'live', id: 'n1', record: undefined, revision: 16 }, 1000)

    const configuration = configurationIn(core, 1000)

    expect(configuration?.inSync).to.deep.equal([{ node: 'n2', incarnation: 1 }])
    expect(configuration?.eligible).to.deep.equal([{ node: 'n1', incarnation: 1 }])
  })

  it('names nobody, once, when every member of the set is damaged', () => {
    const core = controllerOf(['n1', 'n2'])
    shardOn(core, ['n1', 'n2'])
    for (const id of ['n1', 'n2']) {
      register(core, id, { incarnation: 2, wholeSince: 2, revision: 17 })
    }

    const [change, ...others] = core.plan(1000)
    core.settle(change!, { kind: 'committed', revision: 30 }, 1000)

    expect(others).to.deep.equal([])
    expect(change?.changes[0]?.reason).to.match(/no replica that has everything is there/)
    expect(core.plan(LATER_MS)).to.deep.equal([])
    expect(reportCluster(core.cluster).troubles.leaderless).to.equal(1)
  })

  it('lets one node take the writes of a table that asks for nothing, until there are two', () => {
    const core = controllerOf(['n1'])
    core.observe({ kind: 'catalog', path: PATH, entry: CATALOG }, 0)

    expect(configurationIn(core, 0)?.minInSync).to.equal(1)

    shardOn(core, ['n1', 'n2'], { minInSync: 1 })
    setState(core, 'n2', { state: 'serving' })
    register(core, 'n2')
    expect(configurationIn(core, LATER_MS)?.minInSync).to.equal(2)
  })

  it('lowers no minimum because nodes are lost, only because they were decommissioned', () => {
    const core = controllerOf(['n1', 'n2'])
    shardOn(core, ['n1'])
    core.observe({ kind: 'live', id: 'n2', record: undefined, revision: 16 }, 0)
    expect(configurationIn(core, LATER_MS * LATER_MS)).to.equal(undefined)

    setState(core, 'n2', { state: 'decommissioned', revision: 17 })
    expect(configurationIn(core, LATER_MS * LATER_MS)?.minInSync).to.equal(1)
  })

  it('ignores what is older than what it knows', () => {
    const core = controllerOf(['n1', 'n2', 'n3'])
    shardOn(core, ['n1', 'n2', 'n3'])

    core.observe({ kind: 'live', id: 'n1', record: undefined, revision: 9 }, 0)
    core.observe({ kind: 'configuration', path: PATH, configuration: undefined, revision: 14 }, 0)

    expect(core.plan(0)).to.deep.equal([])
  })
})

describe('reportCluster', () => {
  it('says what a cluster with too few nodes lacks', () => {
    const core = controllerOf(['n1', 'n2'])
    shardOn(core, ['n1', 'n2'])
    core.plan(0)

    const { troubles, troubled, nodes } = reportCluster(core.cluster)

    expect(troubles).to.include({ under_replicated: 1, leaderless: 0 })
    expect(troubled[0]?.waits).to.equal('too few nodes: 2 serve, and 3 replicas are wanted')
    const reason = '1 shard would take no writes without it'
    expect(nodes.map(({ neededFor }) => neededFor)).to.deep.equal([reason, reason])
  })

  it('calls every node of a healthy cluster safe to stop, and one that is away not', () => {
    const core = controllerOf(['n1', 'n2', 'n3'])
    shardOn(core, ['n1', 'n2', 'n3'])
    core.plan(0)
    const neededFor = () => reportCluster(core.cluster).nodes.map((node) => node.neededFor)
    expect(neededFor()).to.deep.equal([undefined, undefined, undefined])

    core.observe({ kind: 'live', id: 'n3', record: undefined, revision: 19 }, 0)
    core.plan(0)

    const others = '1 shard would take no writes without it'
    const away = 'it is away, and holds replicas of 1 shard'
    expect(neededFor()).to.deep.equal([others, others, away])
  })

  it('keeps the name and the last address of a node that is away', () => {
    const core = controllerOf(['n1'])
    const addresses = { peer: 'a:1', api: 'a:2' }
    const record = { id: 'n1', zone: '', state: 'serving', incarnation: 1, operation: 'o' } as const
    core.observe(
      { kind: 'node', id: 'n1', record: { ...record, name: 'pod-0', addresses }, revision: 20 },
      0,
    )
    core.observe({ kind: 'live', id: 'n1', record: undefined, revision: 21 }, 0)

    const [node] = reportCluster(core.cluster).nodes

    expect(node).to.deep.include({ name: 'pod-0', addresses, condition: 'away' })
  })

  it('lists a forgotten node no more', () => {
    const core = controllerOf(['n1', 'n2'])
    core.observe({ kind: 'live', id: 'n2', record: undefined, revision: 21 }, 0)
    setState(core, 'n2', { state: 'forgotten', revision: 22 })

    expect(reportCluster(core.cluster).nodes.map(({ id }) => id)).to.deep.equal(['n1'])
  })

  it('says how far a drain is, and why it waits', () => {
    const core = controllerOf(['n1', 'n2', 'n3'])
    shardOn(core, ['n1', 'n2', 'n3'])
    setState(core, 'n3', { state: 'draining', revision: 18 })
    core.plan(0)

    const node = reportCluster(core.cluster).nodes.find(({ id }) => id === 'n3')

    const reason = 'too few nodes: 2 serve, and 3 replicas are wanted'
    expect(node?.neededFor).to.equal(undefined)
    expect(node?.emptying).to.deep.equal({
      isDone: false,
      replicasLeft: 1,
      leadersLeft: 0,
      moving: 0,
      waiting: [{ path: PATH, reason }],
    })
  })

  it('shows a move from its start', () => {
    const core = controllerOf(['n1', 'n2', 'n3', 'n4'])
    shardOn(core, ['n1', 'n2', 'n3'])
    setState(core, 'n3', { state: 'draining', revision: 18 })
    core.plan(0)

    const { moves } = reportCluster(core.cluster)

    const expected = { path: PATH, cause: 'drain', from: 'n3', to: 'n4', phase: 'catching_up' }
    expect(moves).to.have.length(1)
    expect(moves[0]).to.include(expected)
  })
})

describe('requests of operators', () => {
  it('move a replica and pass a leadership on', () => {
    const core = controllerOf(['n1', 'n2', 'n3', 'n4'])
    shardOn(core, ['n1', 'n2', 'n3'])
    core.plan(0)
    const refused = (to: string): unknown => requestTransfer(core.cluster, { path: PATH, to })

    expect(refused('n1')).to.have.property('refused', 'n1 leads it already')
    expect(refused('n4')).to.have.property('refused', 'n4 has no replica in sync of it')
    expect(refused('n2')).to.have.property('kind', 'request')
    const order = { path: PATH, from: 'n2', to: 'n4' }
    const step = requestMove(core.cluster, order)
    expect(step).to.have.deep.property('move', { cause: 'request', from: 'n2', to: 'n4' })
    expect(requestMove(core.cluster, { ...order, to: 'n3' })).to.have.property('refused')
    expect(requestMove(core.cluster, { ...order, path: 'x/y' })).to.have.property('refused')
  })
})
