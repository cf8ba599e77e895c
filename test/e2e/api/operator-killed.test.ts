// An operator that dies at any of its deeds leaves a cluster which the next one finishes. Each run is told by its seed.

import { expect } from 'chai'
import { seededRandom } from '../../../lib/random.ts'
import { eventually } from '../support/eventually.ts'
import { useScene } from '../support/operator/use-scene.ts'

/** More deeds than an operation has. */
const DEEDS_MAX = 14
const SEED = Number(process.env['QUARRY_TEST_SEED'] ?? Math.floor(Math.random() * 1e9))

describe(`an operator that is killed (QUARRY_TEST_SEED=${SEED})`, function () {
  this.timeout(180_000)

  const scene = useScene(import.meta.filename, { isStarted: false })
  const random = seededRandom(SEED)
  const chance = (below: number): number => Math.floor(random() * below)

  afterEach(() => expect(scene().kubelet.broken).to.deep.equal([]))

  /** Each of the first processes dies at one of its next deeds; the last one lives until `ends` has happened. */
  async function throughDeaths(deaths: number, ends: () => Promise<unknown>): Promise<void> {
    for (let death = 0; death < deaths; death++) {
      const at = { deed: 1 + chance(DEEDS_MAX), isDone: chance(2) === 1 }
      const operator = await scene().start({ death: at, podName: `mortal-${death}` })
      const over = ends().then(
        () => 'over',
        () => 'over',
      )
      // An operation may be over before the deed at which the process would die.
      await Promise.race([operator.died, over])
      await operator.kill()
    }
    const last = await scene().start({ podName: 'immortal' })
    try {
      await ends()
    } finally {
      await last[Symbol.asyncDispose]()
    }
  }

  it('has its scale-down finished by the next one, and no node but that one is touched', async () => {
    await scene().apply('books', { nodes: { replicas: 4 } })
    await throughDeaths(2, () => scene().ready('books', 4))
    const before = await scene().status('books')
    const leaving = before.members?.find(({ ordinal }) => ordinal === 3)?.nodeID ?? ''
    const { store } = scene().kubelet.cluster('books')
    store.give(leaving)

    await scene().edit('books', { nodes: { replicas: 3 } })
    await throughDeaths(3, () => scene().ready('books', 3))

    const touched = new Set(store.deeds.map((deed) => deed.split(' ').at(-1)))
    expect([...touched]).to.deep.equal([leaving])
    expect(store.deeds.at(-1)).to.equal(`forget ${leaving}`)
    const after = await scene().status('books')
    expect(after.members?.map(({ nodeID }) => nodeID)).to.deep.equal(
      before.members?.filter(({ ordinal }) => ordinal < 3).map(({ nodeID }) => nodeID),
    )
  })

  it('has its rollout finished by the next one, and no pod is restarted twice', async () => {
    const before = await scene().uids('Pod', 'books')
    const starts = () => {
      const { nodes } = scene().kubelet.cluster('books').store.model
      return Object.fromEntries(
        [...nodes.values()].map(({ name, incarnation }) => [name, incarnation]),
      )
    }
    const startsBefore = starts()
    const nodes = ['books-node-0', 'books-node-1', 'books-node-2']

    await scene().edit('books', {
      restartedAt: '2026-01-02T03:04:05Z',
      updateStrategy: { minReadySeconds: 0 },
    })
    await throughDeaths(3, async () => {
      await eventually(
        'all pods of nodes are others',
        () => scene().uids('Pod', 'books'),
        (pods) => nodes.every((name) => pods[name] !== undefined && pods[name] !== before[name]),
      )
      await scene().ready('books', 3)
    })

    const after = await scene().uids('Pod', 'books')
    const same = Object.keys(before).filter((name) => before[name] === after[name])
    expect(same).to.deep.equal(['books-etcd-0', 'books-etcd-1', 'books-etcd-2'])
    expect(starts()).to.deep.equal(
      Object.fromEntries(nodes.map((name) => [name, (startsBefore[name] ?? 0) + 1])),
    )
  })
})
