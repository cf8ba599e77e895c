import { expect } from 'chai'
import { StartingNode } from '../../../../node/api/starting-node.ts'
import { NO_INDEXES } from '../../../../node/steering/index-summary.ts'

const store = { ready: () => true, indexCounts: () => NO_INDEXES }

describe('StartingNode', () => {
  it('is ready from the moment that it serves to the moment that it stops', () => {
    const node = new StartingNode()

    expect(node.readiness().status).to.equal(503)
    node.serves(store)
    expect(node.readiness().status).to.equal(200)
    node.stops()
    expect(node.readiness().status).to.equal(503)
  })

  it('is not ready while other nodes do not reach it', () => {
    const node = new StartingNode()
    let isReached = false
    node.serves(store, () => isReached)

    expect(node.readiness().status).to.equal(503)
    isReached = true
    expect(node.readiness().status).to.equal(200)
  })
})
