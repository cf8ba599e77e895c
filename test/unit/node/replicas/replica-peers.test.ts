import { expect } from 'chai'
import { silentLog } from '../../../../lib/log.ts'
import { timestampOf } from '../../../../node/clock/hybrid-clock.ts'
import { ReplicaPeers, replicaHandlers } from '../../../../node/replicas/replica-peers.ts'
import { encodeRow } from '../../../../node/journal/journal-format.ts'
import type { PeerLink } from '../../../../node/peer/peer.ts'
import { decodeMessage, encodeMessage } from '../../../../node/replication/shell/message-codec.ts'
import { openTcpWorld, TEST_LIMITS } from '../../../support/peer/peer-world.ts'

const MIB = 1024 * 1024
const LOG = '00000000000000aa'

/** An append with one entry of so many bytes; `epoch` tells it from others. */
function append(epoch: number, bytes: number, logId = LOG): Buffer {
  const body = Buffer.alloc(bytes, epoch)
  const row = encodeRow({ logId, sequence: 1, epoch, length: bytes, previousCrc: 0, crc: 0 })
  const previous = { sequence: 0, epoch: 0, crc: 0 }
  const envelope = { logId, incarnation: 1, hybridTime: timestampOf(1n) }
  const head = { kind: 'append' as const, epoch, previous, committed: 0, sentMs: 0, logEnd: 1 }
  const message = { ...head, closed: undefined }
  return encodeMessage(envelope, message, [{ row, body: [body] }])
}

interface Arrived {
  readonly from: string
  readonly epoch: number
  readonly bytes: number
}

async function openPair(bounds: { readonly waitingBytesMax?: number } = {}) {
  const world = openTcpWorld()
  const arrived: Arrived[] = []
  const receive = async (from: string, message: Buffer): Promise<void> => {
    const { epoch } = decodeMessage(message).message
    arrived.push({ from, epoch, bytes: message.length })
  }
  const handlers = replicaHandlers({ receive, receiveBeat: () => undefined }, silentLog)
  const limits = { ...TEST_LIMITS, silenceMs: 30_000 } // a busy machine loses nothing
  const target = await world.open({ nodeId: 'b', handlers, limits })
  const source = await world.open({ nodeId: 'a', limits })
  const link: PeerLink = source.link(await world.addressOf(target))
  const peers = new ReplicaPeers({
    linkTo: (node) => (node === 'b' ? link : undefined),
    log: silentLog,
    ...bounds,
  })
  // The first message connects the lane and is lost meanwhile.
  await world.until(() => {
    peers.send('b', append(0, 1))
    return arrived.length > 0
  })
  return {
    world,
    peers,
    link,
    arrived,
    epochs: () => arrived.map(({ epoch }) => epoch).filter((epoch) => epoch > 0),
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

describe('messages of replicas between nodes', () => {
  it('arrive in their order, long ones too', async () => {
    await using pair = await openPair()
    const { world, peers, epochs } = pair

    peers.send('b', append(1, 10))
    peers.send('b', append(2, 40 * MIB))
    peers.send('b', append(3, 10))
    peers.send('b', append(4, 3 * MIB))
    peers.send('b', append(5, 10))

    await world.until(() => epochs().length === 5)
    expect(epochs()).to.deep.equal([1, 2, 3, 4, 5])
    expect(pair.arrived.every(({ from }) => from === 'a')).to.equal(true)
  })

  it('do not wait for a long one of another shard', async () => {
    await using pair = await openPair()
    const { world, peers, epochs } = pair

    peers.send('b', append(1, 60 * MIB))
    peers.send('b', append(2, 10, '00000000000000bb'))

    await world.until(() => epochs().length === 2)
    expect(epochs()).to.deep.equal([2, 1])
  })

  it('are lost if nobody knows the way or too much waits, and later ones arrive', async () => {
    await using pair = await openPair({ waitingBytesMax: 13 * MIB })
    const { world, peers, epochs } = pair

    peers.send('unknown', append(1, 10))
    for (let epoch = 2; epoch < 7; epoch++) peers.send('b', append(epoch, 3 * MIB))

    await world.until(() => epochs().length === 4)
    peers.send('b', append(7, 10))
    await world.until(() => epochs().length === 5)
    expect(epochs()).to.deep.equal([2, 3, 4, 5, 7])
  })

  it('that are damaged are refused, and the connection stays', async () => {
    await using pair = await openPair()
    const { world, peers, link, epochs } = pair

    link.send({ operation: 1, body: Buffer.from('noise') })
    peers.send('b', append(1, 10))

    await world.until(() => epochs().length === 1)
    expect(world.faults).to.deep.equal([])
  })
})
