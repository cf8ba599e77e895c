import { expect } from 'chai'
import { requestTransfer } from '../../../../../node/controller/core/operator-requests.ts'
import { SteeredCluster } from '../../../../support/fakes/steered-cluster.ts'

const PATHS = ['t/a', 't/b', 't/c']
const HOLD_MS = 600_000
const ROUNDS = 10

/** Shards on three nodes, the first of which leads all, and a fourth node. */
function cluster(): SteeredCluster {
  const control = new SteeredCluster(['n1', 'n2', 'n3', 'n4'])
  for (const path of PATHS) control.addShard(path, ['n1', 'n2', 'n3'])
  return control
}

async function hold(control: SteeredCluster, ...nodes: readonly string[]): Promise<void> {
  for (const node of nodes) {
    expect(await control.requestOfNode({ kind: 'hand_over', node, holdMs: HOLD_MS })).to.equal(
      undefined,
    )
  }
}

function run(control: SteeredCluster): void {
  for (let round = 0; round < ROUNDS; round++) control.step()
}

function leadersOf(control: SteeredCluster): readonly (string | undefined)[] {
  return PATHS.map((path) => control.core.cluster.shards.get(path)?.configuration?.leader?.node)
}

describe('a node that hands over', () => {
  it('leads nothing until its hold is over, and then leads again by itself', async () => {
    const control = cluster()
    await hold(control, 'n1')

    run(control)
    const [during] = (await control.report()).nodes
    const transfer = requestTransfer(control.core.cluster, { path: 't/a', to: 'n1' })
    for (let round = 0; round < 60; round++) control.step()
    const [after] = (await control.report()).nodes

    expect(during).to.include({ id: 'n1', leaders: 0, condition: 'serving' })
    expect(during?.hold).to.include({ ms: HOLD_MS })
    expect(transfer).to.deep.equal({ refused: 'n1 does not take leaderships now' })
    expect(after?.hold).to.equal(undefined)
    expect(after?.leaders).to.be.greaterThan(0)
  })

  it('keeps what nobody else can lead', async () => {
    const control = cluster()
    control.leave('n2')
    await hold(control, 'n1', 'n3')

    run(control)

    expect(leadersOf(control)).to.deep.equal(['n1', 'n1', 'n1'])
  })

  it('takes over from a node that goes, if nobody else can', async () => {
    const control = cluster()
    await hold(control, 'n2', 'n3', 'n4')
    await control.requestOfNode({ kind: 'drain', node: 'n1' })

    run(control)

    expect(leadersOf(control)).to.not.include('n1')
    expect(leadersOf(control)).to.not.include(undefined)
  })

  it('is elected only if nobody else can be', async () => {
    const chosen = cluster()
    await hold(chosen, 'n2')
    chosen.leave('n1')
    const only = cluster()
    await hold(only, 'n2', 'n3')
    only.leave('n1')

    run(chosen)
    run(only)

    expect(leadersOf(chosen)).to.deep.equal(['n3', 'n3', 'n3'])
    expect(leadersOf(only)).to.not.include(undefined)
  })

  it('leads in its next life at once', async () => {
    const control = cluster()
    await hold(control, 'n2')

    control.join('n2') // a start writes the record without the hold

    expect(requestTransfer(control.core.cluster, { path: 't/a', to: 'n2' })).to.have.property(
      'kind',
      'request',
    )
  })

  it('is not named as the first leader of a new shard', async () => {
    const control = cluster()
    await hold(control, 'n1', 'n2', 'n3')
    const entry = { key: '/table-shards/t/d', modRevision: 1000 }
    control.core.observe({ kind: 'catalog', path: 't/d', entry }, 0)

    run(control)

    const { replicas, leader } = control.core.cluster.shards.get('t/d')?.configuration ?? {}
    expect(replicas).to.include('n4')
    expect(leader?.node).to.equal('n4')
  })
})
