import { expect } from 'chai'
import type { StoreNode, StoreView } from '../../../../operator/machines/observed/store-view.ts'
import { withUsage } from '../../../../operator/observe/volume-usage.ts'
import { settle } from '../../../support/operator/operator-run.ts'
import { decide } from '../../../../operator/machines/decide.ts'
import { World } from '../../../support/operator/world.ts'

function usageBy(disks: readonly (StoreNode['disk'] | 'away')[]): readonly unknown[] {
  const world = new World({ replicationFactor: 2 })
  settle(world, decide)
  const { nodes, store } = world.observe({ cluster: 0, nodes: 0, etcd: 0 })
  const view: StoreView | 'unreachable' =
    store === 'unreachable'
      ? store
      : {
          ...store,
          nodes: store.nodes.map((node) => {
            const disk = disks[Number(node.name?.slice(-1))]
            return disk === undefined || disk === 'away' ? node : { ...node, disk }
          }),
        }
  return withUsage(nodes, view, 'c').claims.map(({ usedPercent }) => usedPercent)
}

describe('how full volumes are', () => {
  it('is what the node of the same ordinal says of its disk', () => {
    const disks = [
      { totalBytes: 1000, freeBytes: 1 },
      { totalBytes: 1000, freeBytes: 0 },
      { totalBytes: 0, freeBytes: 0 },
    ]

    expect(usageBy(disks)).to.deep.equal([99, 100, 100])
  })

  it('is not known of a node that does not say', () => {
    expect(usageBy([{ totalBytes: 10, freeBytes: 9 }, 'away', undefined])).to.deep.equal([
      10,
      undefined,
      undefined,
    ])
  })

  it('is not known while the store does not answer', () => {
    const world = new World({ replicationFactor: 2 })
    settle(world, decide)
    const { nodes } = world.observe({ cluster: 0, nodes: 0, etcd: 0 })

    expect(withUsage(nodes, 'unreachable', 'c')).to.equal(nodes)
  })
})
