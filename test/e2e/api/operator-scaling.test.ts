// Changes of a cluster's size that people take back, overtake or disturb, under the whole operator. Pods, volumes, stores and
// etcds are stubs.

import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { eventually } from '../support/eventually.ts'
import type { Status } from '../support/operator/scene.ts'
import { conditionOf } from '../support/operator/scene.ts'
import { useScene } from '../support/operator/use-scene.ts'

const BOOKS = 'books'

describe('the operator, over sizes that change again', function () {
  this.timeout(180_000)

  const scene = useScene(import.meta.filename)
  const store = () => scene().kubelet.cluster(BOOKS).store
  const pods = () => scene().uids('Pod', BOOKS)
  const claims = () => scene().uids('PersistentVolumeClaim', BOOKS)
  const resize = (replicas: number) => scene().edit(BOOKS, { nodes: { replicas } })

  afterEach(() => expect(scene().kubelet.broken).to.deep.equal([]))

  /** The cluster gets so many nodes; replicas on those above `size` cannot leave them. */
  async function stuckAbove(size: number, replicas: number): Promise<readonly string[]> {
    await resize(replicas)
    const status = await scene().ready(BOOKS, replicas)
    const ordinals = Array.from({ length: replicas - size }, (_, at) => size + at)
    const leaving = ordinals.map((ordinal) => nodeIDOf(status, ordinal))
    for (const nodeID of leaving) store().give(nodeID)
    store().switches.isStalled = true
    store().deeds.length = 0
    return leaving
  }

  const drains = (reason: string) =>
    scene().becomes(BOOKS, `drains, and is ${reason}`, (status) => {
      const { operation } = status
      const isDraining = operation?.type === 'ScaleDown' && operation.phase === 'Draining'
      return isDraining && conditionOf(status, 'Progressing')?.reason === reason
    })

  it('follows the scale subresource from 6 nodes to 3 and back, and drains for one operation at a time', async () => {
    const scale = (replicas: number) =>
      scene().namespace.kubectl(['scale', `storecluster/${BOOKS}`, `--replicas=${replicas}`])
    await scene().apply(BOOKS, { nodes: { replicas: 6 }, scaleUp: { maxConcurrent: 6 } })
    const grown = await scene().ready(BOOKS, 6)

    await scale(3)
    await scene().becomes(BOOKS, 'scales down', ({ operation }) => operation?.type === 'ScaleDown')
    await scale(6)
    const again = await scene().ready(BOOKS, 6)
    await scale(3)
    const shrunk = await scene().ready(BOOKS, 3)

    for (const ordinal of [0, 1, 2]) {
      expect(nodeIDOf(again, ordinal)).to.equal(nodeIDOf(grown, ordinal))
      expect(nodeIDOf(shrunk, ordinal)).to.equal(nodeIDOf(grown, ordinal))
    }
  })

  it('takes the volumes of nodes that left for none of its own, and others as they are', async () => {
    const before = await claims()
    const left = (await scene().list('PersistentVolumeClaim', BOOKS)).find(
      ({ metadata }) => metadata.name === 'data-books-node-4',
    )
    const { labels, name } = must(left?.metadata, 'the volume of a node that left')
    await scene().namespace.kubectl(['delete', 'pvc', name])
    const spec = { accessModes: ['ReadWriteOnce'], resources: { requests: { storage: '10Gi' } } }
    const metadata = { name, labels }
    const claim = { apiVersion: 'v1', kind: 'PersistentVolumeClaim', metadata, spec }
    await scene().namespace.apply(claim)
    const { [name]: made } = await claims()

    await resize(5)
    await scene().ready(BOOKS, 5)

    const after = await claims()
    expect(after['data-books-node-3']).to.be.a('string')
    expect(after['data-books-node-3']).to.not.equal(before['data-books-node-3'])
    expect(after[name]).to.equal(made)
    for (const at of [0, 1, 2]) {
      expect(after[`data-books-node-${at}`]).to.equal(before[`data-books-node-${at}`])
    }
  })

  it('takes drains back when the size is again what it was, and more: no pod restarts', async () => {
    for (const size of [5, 6]) {
      const leaving = await stuckAbove(3, 5)
      const before = await pods()

      await resize(3)
      await drains('Blocked')
      await resize(size)
      await scene().ready(BOOKS, size)
      store().switches.isStalled = false

      const undrained = leaving.map((nodeID) => `undrain ${nodeID}`)
      expect(store().deeds.filter((deed) => deed.startsWith('undrain'))).to.have.members(undrained)
      expect(store().deeds.join()).to.not.include('decommission')
      for (const nodeID of leaving) {
        expect(store().model.nodes.get(nodeID)).to.include({ state: 'serving' })
      }
      expect(await pods()).to.include(before)
    }
    await resize(3)
    await scene().ready(BOOKS, 3)
  })

  it('takes no node away for what the store says of another operation', async () => {
    const [leaving] = await stuckAbove(3, 4)
    store().switches.isStalled = false
    store().switches.toldOperation = 'another.1'

    await resize(3)
    await scene().becomes(BOOKS, 'drains', ({ operation }) => operation?.phase === 'Draining')
    await scene().looksAgain(BOOKS)
    const deeds = store().deeds.join()
    const during = await pods()
    store().switches.toldOperation = undefined
    await scene().ready(BOOKS, 3)

    expect(deeds).to.include(`drain ${leaving}`)
    expect(deeds).to.not.include('decommission')
    expect(during).to.have.property('books-node-3')
    expect(store().deeds.at(-1)).to.equal(`forget ${leaving}`)
  })

  it('lets a drain come to its end without the node, which has crashed meanwhile', async () => {
    const [leaving] = await stuckAbove(3, 4)

    await resize(3)
    await drains('Blocked')
    scene().kubelet.held.add('books-node-3')
    await scene().namespace.kubectl(['delete', 'pod', 'books-node-3'])
    await scene().looksAgain(BOOKS)
    store().switches.isStalled = false
    await scene().ready(BOOKS, 3)
    scene().kubelet.held.clear()

    expect(store().deeds.at(-1)).to.equal(`forget ${leaving}`)
    expect(await pods()).to.not.have.property('books-node-3')
  })

  it('takes a pod away whose node has never joined, and asks the store for nothing', async () => {
    store().deeds.length = 0
    scene().kubelet.held.add('books-node-3')
    await resize(4)
    await scene().becomes(BOOKS, 'waits for the node', ({ operation }) => {
      return operation?.phase === 'WaitingForNodes'
    })
    await eventually('the pod is there', pods, (now) => now['books-node-3'] !== undefined)

    await resize(3)
    await scene().ready(BOOKS, 3)
    scene().kubelet.held.clear()

    expect(store().deeds).to.deep.equal([])
    expect(await pods()).to.not.have.property('books-node-3')
  })
})

function nodeIDOf({ members }: Status, ordinal: number): string {
  const member = members?.find((one) => one.ordinal === ordinal)
  return must(member?.nodeID, `a node of ordinal ${ordinal}`)
}
