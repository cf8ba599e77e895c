import { expect } from 'chai'
import { knownNodes } from '../../../../node/cluster/known-nodes.ts'
import type { KnownNode } from '../../../../node/cluster/known-cluster.ts'
import type { MoveRecord } from '../../../../node/controller/core/records/move-record.ts'
import type { NodeState } from '../../../../node/controller/core/records/node-record.ts'
import type { ShardConfiguration } from '../../../../node/replication/core/configuration.ts'

const ADDRESSES = { peer: 'p:1', api: 'a:1' }

function node(id: string, state: NodeState, isThere: boolean): KnownNode {
  const life = { id, incarnation: 3, addresses: ADDRESSES, version: '1', wholeSince: 1 }
  const registration = isThere ? { ...life, isLeaving: false } : undefined
  return { id, zone: 'z', state, registration, addresses: ADDRESSES, liveRevision: 1 }
}

const MOVE: MoveRecord = { cause: 'drain', from: 'n2', to: 'n1', operation: 'o' }

function shard(replicas: readonly string[]): ShardConfiguration {
  const inSync = replicas.map((id) => ({ node: id, incarnation: 3 }))
  const sets = { replicas, inSync, eligible: [], leader: inSync[0] }
  return { epoch: 1, ...sets, minInSync: 1, operation: 'o', revision: 1 }
}

describe('the nodes that one node knows', () => {
  const known = knownNodes(
    {
      nodes: () => [
        node('n1', 'serving', true),
        node('n2', 'draining', true),
        node('n3', 'serving', false),
        node('n4', 'forgotten', false),
      ],
      shards: () =>
        new Map([
          ['t/a', shard(['n1', 'n2'])],
          ['t/b', shard(['n2', 'n3'])],
        ]),
      moveOf: (path) => (path === 't/b' ? MOVE : undefined),
    },
    0,
  )

  it('are listed with what they hold, and without those that are forgotten', () => {
    const held = known.map(({ id, condition, replicas, leaders, movesIn, movesOut }) => {
      return [id, condition, replicas, leaders, movesIn, movesOut]
    })

    expect(held).to.deep.equal([
      ['n1', 'serving', 1, 1, 1, 0],
      ['n2', 'emptying', 2, 1, 0, 1],
      ['n3', 'away', 1, 0, 0, 0],
    ])
  })

  it('are neither safe to stop nor emptied to the end', () => {
    expect(known.filter(({ neededFor }) => neededFor === undefined)).to.deep.equal([])
    for (const { updateWaitsFor } of known) expect(updateWaitsFor).to.have.length(1)
    expect(known.map(({ emptying }) => emptying?.isDone)).to.deep.equal([
      undefined,
      false,
      undefined,
    ])
  })
})
