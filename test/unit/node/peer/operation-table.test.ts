import { expect } from 'chai'
import { OperationTable } from '../../../../node/peer/operation-table.ts'
import { noHandler, type PeerHandler } from '../../../../node/peer/peer.ts'

const handler: PeerHandler = { kind: 'call', handle: async () => Buffer.alloc(0) }

describe('OperationTable', () => {
  it('says that the node is starting until every part has been added', () => {
    const table = new OperationTable()
    table.add(new Map([[1, handler]]))

    expect(table.get(1)).to.equal(handler)
    expect(noHandler(table, { operation: 2, kind: 'call' }).code).to.equal('UNAVAILABLE')
    table.complete()
    expect(noHandler(table, { operation: 2, kind: 'call' }).code).to.equal('INVALID_ARGUMENT')
  })

  it('has one part for an operation', () => {
    const table = new OperationTable()
    table.add(new Map([[1, handler]]))

    expect(() => table.add(new Map([[1, handler]]))).to.throw('one part of the node')
  })
})
