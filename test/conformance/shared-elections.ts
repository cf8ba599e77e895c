import { expect } from 'chai'
import type { Clock } from '../../lib/clock.ts'
import { configurationKey } from '../../node/controller/core/records/cluster-codec.ts'
import type { Coordination } from '../../node/coordination/coordination.ts'
import { OPS_PER_COMMIT_MAX } from '../../node/coordination/coordination.ts'
import { LostLeader } from '../support/worlds/lost-leader.ts'

const SHARDS = 1000
/** Two conditions for each shard, and one for each of three nodes and the controller. */
const SHARDS_PER_COMMIT = Math.floor((OPS_PER_COMMIT_MAX - 4) / 2)

export interface ElectionWorld {
  readonly coordination: Coordination
  readonly clock: Clock
  /** Lets time pass until the condition holds. */
  until(condition: () => Promise<boolean>): Promise<void>
}

/** A controller that names leaders for a thousand shards of a lost node, over any store. */
export function describeSharedElections(
  name: string,
  open: () => Promise<ElectionWorld & AsyncDisposable>,
): void {
  describe(`elections over ${name}`, () => {
    it('name leaders for 1,000 shards in as few commits as the store allows', async () => {
      await using world = await open()

      const lost = await electAll(world)

      const elections = lost.commits.filter(({ commit }) => commit.changes.length > 1)
      expect(elections.length).to.be.at.most(Math.ceil(SHARDS / SHARDS_PER_COMMIT) + 5)
      const most = Math.max(...elections.map(({ commit }) => commit.when.length))
      expect(most).to.be.within(OPS_PER_COMMIT_MAX - 1, OPS_PER_COMMIT_MAX)
      const leaders = [...(await lost.leaders()).values()]
      for (const node of ['n2', 'n3']) {
        const led = leaders.filter(({ leader }) => leader?.node === node).length
        expect(led).to.be.closeTo(SHARDS / 2, SHARDS / 20)
      }
    })

    it('continue for all shards but the one that another change has met', async () => {
      await using world = await open()
      let met = ''

      const lost = await electAll(world, (made) => {
        made.beforeCommit = async ({ changes }) => {
          const change = changes.at(7)
          if (met !== '' || change?.type !== 'put') return
          met = change.key
          // What a leader may do at the same moment: the record as it is, under another revision.
          const entry = await made.coordination.get(met)
          await made.coordination.commit({
            when: [],
            changes: [{ type: 'put', key: met, value: entry!.value }],
          })
        }
      })

      const conflicts = lost.commits.filter(({ outcome }) => outcome.kind === 'conflict')
      expect(conflicts).to.have.length(1)
      const after = lost.commits.slice(lost.commits.indexOf(conflicts[0]!) + 1)
      const others = conflicts[0]!.commit.changes.map(({ key }) => key).filter((key) => key !== met)
      const done = new Set(after.flatMap(({ commit }) => commit.changes.map(({ key }) => key)))
      expect(others.filter((key) => !done.has(key))).to.deep.equal([])
      const epochs = [...(await lost.leaders()).values()].map(({ epoch }) => epoch)
      expect(new Set(epochs)).to.deep.equal(new Set([2]))
      expect(met.startsWith(configurationKey(''))).to.equal(true)
    })
  })
}

async function electAll(
  world: ElectionWorld,
  before: (lost: LostLeader) => void = () => undefined,
): Promise<LostLeader> {
  const { coordination, clock } = world
  const lost = await LostLeader.begin(coordination, { clock, shards: SHARDS })
  before(lost)
  const over = new AbortController()
  const running = lost.run(over.signal)
  await world.until(async () => {
    const leaders = [...(await lost.leaders()).values()]
    return leaders.every(({ leader }) => leader !== undefined && leader.node !== 'n1')
  })
  over.abort()
  await running
  return lost
}
