import { readFileSync } from 'node:fs'
import { expect } from 'chai'
import {
  configurationKey,
  decodeConfiguration,
  decodeIdentity,
  decodeMove,
  decodeNode,
  decodeRegistration,
  encodeConfiguration,
  encodeIdentity,
  encodeMove,
  encodeNode,
  encodeRegistration,
  liveKey,
  moveKey,
  nodeKey,
} from '../../../../../../node/controller/core/records/cluster-codec.ts'
import type { MoveRecord } from '../../../../../../node/controller/core/records/move-record.ts'
import { errorOf } from '../../../../../support/error-of.ts'

const GOLDEN: Readonly<Record<string, string>> = JSON.parse(
  readFileSync('test/golden/cluster-formats.json', 'utf8'),
)

const IDENTITY = { name: 'library', id: 'c1' }
const NODE = {
  id: 'n1',
  zone: 'a',
  state: 'draining',
  incarnation: 3,
  operation: 'c/1',
} as const
const STEERED = { ...NODE, operationId: 'scale-down-7', endedOperationId: 'scale-down-6' }
const HELD = { ...NODE, hold: { untilMs: 1_700_000_000_000, ms: 60_000, operationId: 'rollout-3' } }
const HELD_BY_NOBODY = { ...NODE, hold: { untilMs: 1_700_000_000_000, ms: 60_000 } }
const JOINED = { ...NODE, registeredAtMs: 1_700_000_000_000 }
const REGISTRATION = {
  id: 'n1',
  incarnation: 3,
  addresses: { peer: '10.0.0.1:7000', api: '10.0.0.1:8080' },
  version: '0.1.0',
  wholeSince: 2,
  isLeaving: true,
}
const CONFIGURATION = {
  epoch: 4,
  leader: { node: 'n1', incarnation: 3 },
  replicas: ['n1', 'n2', 'n3'],
  inSync: [{ node: 'n1', incarnation: 3 }],
  eligible: [{ node: 'n2', incarnation: 1 }],
  minInSync: 2,
  operation: 'n1/3/4/1',
}
const MOVE: MoveRecord = { cause: 'drain', to: 'n3', from: 'n1', operation: 'c/2' }

describe('the records of a cluster', () => {
  it('lie under their keys', () => {
    const keys = [nodeKey('n1'), liveKey('n1'), configurationKey('t/s'), moveKey('t/s')]

    expect(keys).to.deep.equal([
      '/cluster/nodes/n1',
      '/cluster/live/n1',
      '/cluster/shards/t/s',
      '/cluster/moves/t/s',
    ])
  })

  it('are written as the golden file has them', () => {
    const written = {
      identity: encodeIdentity(IDENTITY).toString(),
      node: encodeNode(NODE).toString(),
      steered: encodeNode(STEERED).toString(),
      held: encodeNode(HELD).toString(),
      heldByNobody: encodeNode(HELD_BY_NOBODY).toString(),
      joined: encodeNode(JOINED).toString(),
      registration: encodeRegistration(REGISTRATION).toString(),
      configuration: encodeConfiguration(CONFIGURATION).toString(),
      leaderless: encodeConfiguration({ ...CONFIGURATION, leader: undefined }).toString(),
      move: encodeMove(MOVE).toString(),
      growing: encodeMove({ ...MOVE, cause: 'grow', from: undefined }).toString(),
    }

    expect(written).to.deep.equal(GOLDEN)
  })

  it('are read from the golden file', () => {
    expect(decodeIdentity(read('identity'))).to.deep.equal(IDENTITY)
    expect(decodeNode(read('node'))).to.deep.equal(NODE)
    expect(decodeNode(read('steered'))).to.deep.equal(STEERED)
    expect(decodeNode(read('held'))).to.deep.equal(HELD)
    expect(decodeNode(read('heldByNobody'))).to.deep.equal(HELD_BY_NOBODY)
    expect(decodeNode(read('joined'))).to.deep.equal(JOINED)
    expect(decodeRegistration(read('registration'))).to.deep.equal(REGISTRATION)
    const configuration = { ...CONFIGURATION, revision: 9 }
    expect(decodeConfiguration(read('configuration'), 9)).to.deep.equal(configuration)
    expect(decodeConfiguration(read('leaderless'), 9).leader).to.equal(undefined)
    expect(decodeMove(read('move'))).to.deep.equal(MOVE)
    expect(decodeMove(read('growing')).from).to.equal(undefined)
  })

  it('are refused when they are damaged or of another format', async () => {
    const damaged = [
      '',
      'null',
      '[]',
      '{"format":2}',
      '{"format":1}',
      '{"format":1,"id":"n","zone":"","state":"asleep","operation":"o"}',
      '{"format":1,"id":"n","zone":"","state":"serving","incarnation":1,"operation":"o","hold":[1]}',
      '{"format":1,"id":"n","zone":"","state":"serving","incarnation":1,"operation":"o","hold":7}',
      '{"format":1,"id":"n","zone":"","state":"serving","incarnation":1,"operation":"o","registeredAtMs":"2026"}',
      '{"format":1,"id":7,"zone":"","state":"serving","operation":"o"}',
    ]

    for (const text of damaged) {
      const error = await errorOf(() => decodeNode(Buffer.from(text)))
      expect(error, text).to.have.property('code', 'CORRUPTION')
    }
    const replica = '{"format":1,"epoch":1,"leader":["n"],"replicas":[],"inSync":[],"eligible":[]}'
    const error = await errorOf(() => decodeConfiguration(Buffer.from(replica), 1))
    expect(error).to.have.property('code', 'CORRUPTION')
  })
})

function read(name: string): Buffer {
  return Buffer.from(GOLDEN[name] ?? '')
}
