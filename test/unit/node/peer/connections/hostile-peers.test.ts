import { expect } from 'chai'
import * as fc from 'fast-check'
import type { PeerHandler, PeerLink, PeerNode } from '../../../../../node/peer/peer.ts'
import { encodeFrame, encodeU32, FRAME } from '../../../../../node/peer/wire/frame-codec.ts'
import { encodeHandshake } from '../../../../../node/peer/wire/handshake-codec.ts'
import { TEST_LIMITS, openTcpWorld } from '../../../../support/peer/peer-world.ts'
import type { PeerWorld } from '../../../../support/peer/peer-world.ts'
import { RawPeer } from '../../../../support/peer/raw-peer.ts'

const limits = { ...TEST_LIMITS, handshakeMs: 300, strangersMax: 8 }
const MIB = 1024 * 1024

/** The head of a frame without a body, and whatever the test puts into it. */
function frame(type: number, fields: { stream?: number; flags?: number; body?: Buffer }): Buffer {
  const { stream = 0, flags = 0, body = Buffer.alloc(0) } = fields
  const out = encodeFrame({ type: FRAME.ping, stream, flags, body })
  out[0] = type
  return out
}

const opening = (total: number): Buffer => Buffer.concat([Buffer.alloc(8), encodeU32(total)])

describe('a node among hostile peers', () => {
  let world: PeerWorld
  let server: PeerNode
  let honest: PeerLink
  let rogueCalls: number

  beforeEach(async () => {
    world = openTcpWorld()
    rogueCalls = 0
    const handle = async (from: string): Promise<Buffer> => {
      if (from !== 'honest') rogueCalls += 1
      return Buffer.from('served')
    }
    const handlers = new Map<number, PeerHandler>([
      [0, { kind: 'call', handle: ({ from }) => handle(from) }],
      [
        1,
        {
          kind: 'call',
          handle: ({ signal }) =>
            new Promise((_resolve, reject) => {
              signal.addEventListener('abort', () => reject(signal.reason))
            }),
        },
      ],
    ])
    server = await world.open({ nodeId: 'server', handlers, limits })
    const client = await world.open({ nodeId: 'honest' })
    honest = client.link(await world.addressOf(server))
    await expectServed()
  })
  afterEach(async () => {
    await expectServed()
    await world[Symbol.asyncDispose]()
  })

  async function expectServed(): Promise<void> {
    const answer = await honest.call({ operation: 0, body: Buffer.alloc(0) }, { timeoutMs: 10_000 })
    expect(answer.toString()).to.equal('served')
  }

  const connect = (): Promise<RawPeer> => RawPeer.connect(server.port)
  const closed = (peer: RawPeer): Promise<void> => world.until(() => peer.isClosed)

  it('refuses random bytes in place of a handshake', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 3000 }), async (bytes) => {
        const peer = await connect()
        peer.write(bytes)
        peer.end()
        await closed(peer)
      }),
      { numRuns: 60 },
    )
    expect(rogueCalls).to.equal(0)
  })

  it('refuses a recorded handshake that is played again, whole and in mutations', async () => {
    const recorded = await connect()
    await recorded.authenticate('server')
    const messages = recorded.sent.slice(0, 2)
    recorded.destroy()
    await fc.assert(
      fc.asyncProperty(fc.nat(), fc.integer({ min: 0, max: 255 }), async (place, change) => {
        const copy = Buffer.concat(messages)
        copy[place % copy.length] = copy[place % copy.length]! ^ change
        const peer = await connect()
        peer.write(copy)
        await closed(peer)
        expect(peer.received.includes(Buffer.from([0, 0, 0, 33, 3]))).to.equal(false) // a welcome
      }),
      { numRuns: 40 },
    )
  })

  it('closes a connection with the first record that is not what the peer sealed', async () => {
    await fc.assert(
      fc.asyncProperty(fc.uint8Array({ minLength: 1, maxLength: 500 }), async (bytes) => {
        const peer = await connect()
        await peer.authenticate('server')
        peer.write(Buffer.concat([encodeU32(bytes.length), bytes]))
        peer.write(Buffer.alloc(600)) // in case the length asked for more
        await closed(peer)
      }),
      { numRuns: 40 },
    )
    expect(rogueCalls).to.equal(0)
  })

  it('closes a connection that plays its own records again', async () => {
    const peer = await connect()
    const session = await peer.authenticate('server')
    peer.sendFrames(session, frame(FRAME.open, { stream: 1, flags: 1, body: opening(0) }))
    await world.until(() => rogueCalls === 1)
    peer.write(peer.sent.at(-1)!)
    await closed(peer)

    expect(rogueCalls).to.equal(1)
  })

  it('survives any frames of a node that has the secret', async () => {
    const anyFrame = fc
      .record({
        type: fc.integer({ min: 0, max: 12 }),
        flags: fc.integer({ min: 0, max: 3 }),
        stream: fc.integer({ min: 0, max: 4 }),
        body: fc.uint8Array({ maxLength: 40 }),
      })
      .map(({ type, body, ...fields }) => frame(type, { ...fields, body: Buffer.from(body) }))
    await fc.assert(
      fc.asyncProperty(
        fc.array(anyFrame, { minLength: 1, maxLength: 30 }),
        fc.uint8Array({ maxLength: 3 }),
        async (frames, tail) => {
          const peer = await connect()
          const session = await peer.authenticate('server')
          peer.sendFrames(session, Buffer.concat([...frames, tail]))
          peer.sendFrames(session, frame(FRAME.cancel, { stream: 2 ** 31 })) // wrong at the latest here
          await closed(peer)
        },
      ),
      { numRuns: 80 },
    )
    expect(world.faults).to.deep.equal([])
  })

  const broken: Record<string, readonly Buffer[]> = {
    'a call larger than messages may be': [
      frame(FRAME.open, { stream: 1, flags: 1, body: opening(0xffff_ffff) }),
    ],
    'more bytes than the message has': [
      frame(FRAME.open, {
        stream: 1,
        flags: 1,
        body: Buffer.concat([opening(1), Buffer.alloc(2)]),
      }),
    ],
    'more bytes than the window': Array.from({ length: 3 }, (_, at) =>
      frame(FRAME.open, {
        stream: 1,
        flags: at === 0 ? 1 : 0,
        body: Buffer.concat([at === 0 ? opening(200_000) : Buffer.alloc(0), Buffer.alloc(60_000)]),
      }),
    ),
    'a number twice': [1, 1].map((stream) =>
      frame(FRAME.open, { stream, flags: 1, body: opening(0) }),
    ),
    'a smaller number': [2, 1].map((stream) =>
      frame(FRAME.open, { stream, flags: 1, body: opening(0) }),
    ),
    'a second message in a call': [
      frame(FRAME.open, { stream: 1, flags: 1, body: opening(10) }),
      frame(FRAME.data, { stream: 1, flags: 1, body: encodeU32(10) }),
    ],
    'an answer to nothing': [frame(FRAME.failure, { stream: 1 })],
    'a credit for a call that never was': [frame(FRAME.credit, { stream: 7, body: encodeU32(1) })],
  }
  for (const [name, frames] of Object.entries(broken)) {
    it(`closes the connection of a node that sends ${name}`, async () => {
      const peer = await connect()
      const session = await peer.authenticate('server')
      for (const one of frames) peer.sendFrames(session, one)

      await closed(peer)
    })
  }

  it('closes the connection of a node that opens more calls than there are places', async () => {
    const peer = await connect()
    const session = await peer.authenticate('server')
    const { streamsMax } = session.theirs
    const calls = Array.from({ length: streamsMax + 1 }, (_, at) => {
      const call = frame(FRAME.open, { stream: at + 1, flags: 1, body: opening(0) })
      call.writeUInt16BE(1, 2) // the operation that waits
      return call
    })
    for (const call of calls.slice(0, streamsMax)) peer.sendFrames(session, call)
    await expectServed()
    expect(peer.isClosed).to.equal(false)
    peer.sendFrames(session, calls[streamsMax]!)

    await closed(peer)
  })

  it('keeps its memory while calls are opened and cancelled as fast as they can be', async () => {
    const peer = await connect()
    const session = await peer.authenticate('server')
    const before = process.memoryUsage().rss
    for (let at = 1; at <= 20_000 && !peer.isClosed; at++) {
      const call = frame(FRAME.open, { stream: at, flags: 1, body: opening(0) })
      call.writeUInt16BE(1, 2)
      peer.sendFrames(session, Buffer.concat([call, frame(FRAME.cancel, { stream: at })]))
      if (at % 1000 === 0) await expectServed()
    }

    expect(process.memoryUsage().rss - before).to.be.below(200 * MIB)
    peer.destroy()
  })

  it('closes the connection of a node that asks and never reads', async () => {
    const peer = await connect()
    const session = await peer.authenticate('server')
    peer.stopReading()
    const before = process.memoryUsage().rss
    let at = 0
    await world.until(() => {
      for (let more = 0; more < 2000; more++) {
        const call = frame(FRAME.open, { stream: (at += 1), flags: 1, body: opening(0) })
        call.writeUInt16BE(9, 2) // an operation that the node refuses
        peer.sendFrames(session, call)
      }
      return peer.isClosed
    })

    expect(process.memoryUsage().rss - before).to.be.below(300 * MIB)
  })

  it('does not wait longer than a handshake may take, also for one byte at a time', async () => {
    const silent = await connect()
    const slow = await connect()
    const hello = encodeHandshake({ kind: 'refusal', reason: 'x'.repeat(250) })
    let at = 0
    await world.until(() => {
      if (!slow.isClosed) slow.write(hello.subarray(at, (at += 1)))
      return slow.isClosed && silent.isClosed
    })

    expect(at).to.be.below(hello.length)
  })

  it('holds few strangers, and lets honest nodes in while they flood it', async () => {
    const strangers: RawPeer[] = []
    for (let count = 0; count < 200; count++) strangers.push(await connect())
    await world.until(() => strangers.filter(({ isClosed }) => !isClosed).length <= 8)

    const other = await world.open({ nodeId: 'late' })
    const link = other.link({ nodeId: 'server', host: '127.0.0.1', port: server.port })
    const answer = await link.call({ operation: 0, body: Buffer.alloc(0) })
    expect(answer.toString()).to.equal('served')
    for (const stranger of strangers) stranger.destroy()
  })

  it('keeps one connection of each node and lane: a newer one ends the half-open older one', async () => {
    const first = await connect()
    await first.authenticate('server')
    const second = await connect()
    await second.authenticate('server')

    await closed(first)
    expect(second.isClosed).to.equal(false)
    const third = await connect()
    await third.authenticate('server', { lane: 'bulk' })
    await expectServed()
    expect(second.isClosed).to.equal(false)
    second.destroy()
    third.destroy()
  })

  it('forgets a node that stays silent after its handshake', async () => {
    const peer = await connect()
    await peer.authenticate('server')

    await closed(peer)
  })

  it('holds one large message of a hostile node at a time in memory, and no byte more', async () => {
    const peer = await connect()
    const session = await peer.authenticate('server', { lane: 'bulk' })
    const before = process.memoryUsage().arrayBuffers
    const total = session.theirs.messageBytesMax
    for (let stream = 1; stream <= 60; stream++) {
      peer.sendFrames(session, frame(FRAME.open, { stream, flags: 1, body: opening(total) }))
    }
    await expectServed()

    expect(process.memoryUsage().arrayBuffers - before).to.be.below(2 * total)
    peer.destroy()
  })
})
