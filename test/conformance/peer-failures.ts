import { expect } from 'chai'
import { isServiceError } from '../../lib/errors.ts'
import { Replaceable } from '../../lib/replaceable.ts'
import type { LaneState, PeerHandler } from '../../node/peer/peer.ts'
import {
  OPERATION,
  EMPTY,
  body,
  ask,
  callHandler,
  streamHandler,
  HeldCalls,
  endless,
  expectTransport,
} from '../support/peer/peer-fixture.ts'
import type { PeerFixture } from '../support/peer/peer-fixture.ts'
import { TEST_LIMITS, TEST_SECRET } from '../support/peer/peer-world.ts'
import type { NodeSettings } from '../support/peer/peer-world.ts'

const KIB = 1024

function secretsOf(...secrets: Buffer[]): Replaceable<readonly Uint8Array[]> {
  return new Replaceable<readonly Uint8Array[]>(secrets)
}

/** The second half of the contract: what ends early, what is lost, and who is refused. */
export function describePeerFailures(peers: PeerFixture): void {
  describe('deadlines and signals', () => {
    it('end a call on both sides when its time is over', async () => {
      const held = new HeldCalls()
      const { link } = await peers.pair(held.handlers)
      await peers.connect(link)
      const error = await peers.failure(link.call(ask(), { timeoutMs: 50 }))
      await peers.world.until(() => held.reasons.length === 1)

      expectTransport(error, 'DEADLINE_EXCEEDED', 'unknown')
      const [request] = held.requests
      expect(request?.remainingMs()).to.be.within(0, 50)
      expect(held.reasons[0])
        .to.have.property('code')
        .that.matches(/^(DEADLINE_EXCEEDED|CANCELLED)$/)
      held.answerAll()
    })

    it('end a call that waits for a connection: nothing happened', async () => {
      const { link } = await peers.pair(callHandler(async () => EMPTY))
      peers.world.hole(true)

      const error = await peers.failure(link.call(ask(), { timeoutMs: 30 }))

      expectTransport(error, 'DEADLINE_EXCEEDED', 'nothing')
    })

    it('tell the handler how long the caller waits', async () => {
      const { link } = await peers.pair(
        callHandler(async (request) => body(String(request.remainingMs()))),
      )

      const limited = await peers.settled(link.call(ask(), { timeoutMs: 60_000 }))
      expect(Number(limited.toString())).to.be.within(50_000, 60_000)
      expect((await peers.settled(link.call(ask()))).toString()).to.equal('undefined')
    })

    it('end a call on both sides with the reason of the signal', async () => {
      const held = new HeldCalls()
      const { link } = await peers.pair(held.handlers)
      const stop = new AbortController()
      const call = link.call(ask(), { signal: stop.signal })
      await peers.world.until(() => held.requests.length === 1)
      const reason = new Error('enough')
      stop.abort(reason)

      expect(await peers.failure(call)).to.equal(reason)
      await peers.world.until(() => held.reasons.length === 1)
      expect(held.reasons[0]).to.include({ code: 'CANCELLED' })
      held.answerAll()
    })

    it('that aborted before the call send nothing', async () => {
      const held = new HeldCalls()
      const { link } = await peers.pair(held.handlers)
      const reason = new Error('too late')

      const call = link.call(ask(), { signal: AbortSignal.abort(reason) })

      expect(await peers.failure(call)).to.equal(reason)
      await peers.settled(link.call({ operation: 9, body: EMPTY }).catch(() => undefined))
      expect(held.requests).to.deep.equal([])
    })

    it('leave the place of a call taken until its handler has settled (SS1)', async () => {
      const held = new HeldCalls()
      const lane = { streamsMax: 1, windowBytes: 64 * KIB }
      const limits = { ...TEST_LIMITS, lanes: { prompt: lane, bulk: lane } }
      const { link } = await peers.pair(held.handlers, { server: { limits }, client: { limits } })
      await peers.connect(link)
      const late = await peers.failure(link.call(ask(), { timeoutMs: 30 }))
      const waiting = await peers.failure(link.call(ask(), { timeoutMs: 30 }))

      expectTransport(late, 'DEADLINE_EXCEEDED', 'unknown')
      expectTransport(waiting, 'DEADLINE_EXCEEDED', 'nothing')
      expect(held.requests).to.have.length(1)
      held.answerAll()
      const next = link.call(ask())
      await peers.world.until(() => held.requests.length === 2)
      held.answerAll()
      await peers.settled(next)
    })
  })

  describe('a lost connection', () => {
    it('leaves calls that were sent unknown, and comes back', async () => {
      const held = new HeldCalls()
      const { link } = await peers.pair(held.handlers)
      const states: LaneState['kind'][] = []
      link.onState((_lane, { kind }) => states.push(kind))
      const call = link.call(ask())
      await peers.world.until(() => held.requests.length === 1)

      peers.world.cut()

      expectTransport(await peers.failure(call), 'UNAVAILABLE', 'unknown')
      await peers.world.until(() => held.reasons.length === 1)
      expect(held.reasons[0]).to.include({ code: 'UNAVAILABLE' })
      held.answerAll()
      await peers.world.until(() => states.filter((kind) => kind === 'connected').length === 2)
      expect(states.slice(0, 4)).to.deep.equal(['connecting', 'connected', 'waiting', 'connecting'])
      const again = link.call(ask())
      await peers.world.until(() => held.requests.length === 2)
      held.answerAll()
      await peers.settled(again)
    })

    it('leaves calls that were not sent without effect', async () => {
      const held = new HeldCalls()
      const lane = { streamsMax: 1, windowBytes: 64 * KIB }
      const limits = { ...TEST_LIMITS, lanes: { prompt: lane, bulk: lane } }
      const { link } = await peers.pair(held.handlers, { server: { limits } })
      const sent = peers.failure(link.call(ask()))
      await peers.world.until(() => held.requests.length === 1)
      const waiting = peers.failure(link.call(ask()))

      peers.world.cut()

      expectTransport(await sent, 'UNAVAILABLE', 'unknown')
      expectTransport(await waiting, 'UNAVAILABLE', 'nothing')
      held.answerAll()
    })

    it('ends streams and uploads that run', async () => {
      const { link } = await peers.pair(streamHandler(() => endless({ made: 0 }, 10)))
      const reading = peers.failure(
        (async () => {
          for await (const part of link.stream(ask())) if (part[0] === 50) peers.world.cut()
        })(),
      )

      expectTransport(await reading, 'UNAVAILABLE', 'unknown')
    })

    it('is noticed within the silence when everything vanishes', async () => {
      const held = new HeldCalls()
      const { link } = await peers.pair(held.handlers)
      const call = link.call(ask())
      await peers.world.until(() => held.requests.length === 1)

      peers.world.hole(true)

      expectTransport(await peers.failure(call), 'UNAVAILABLE', 'unknown')
      await peers.world.until(() => held.reasons.length === 1)
      peers.world.hole(false)
      held.answerAll()
      await peers.world.until(() => link.state('prompt').kind === 'connected')
    })

    it('is not found in a silence in which nobody has something to say', async () => {
      const held = new HeldCalls()
      const { link } = await peers.pair(held.handlers)
      const call = peers.failure(link.call(ask(), { timeoutMs: 3 * TEST_LIMITS.silenceMs }))
      await peers.world.until(() => held.requests.length === 1)
      const states: LaneState[] = []
      link.onState((_lane, state) => states.push(state))

      expectTransport(await call, 'DEADLINE_EXCEEDED', 'unknown')
      held.answerAll()
      expect(states).to.deep.equal([])
    })
  })

  describe('nodes', () => {
    it('that are not there fail calls at once: nothing happened', async () => {
      const { link, server } = await peers.pair(callHandler(async () => EMPTY))
      await peers.settled(server.close())

      expectTransport(await peers.failure(link.call(ask())), 'UNAVAILABLE', 'nothing')
      expectTransport(await peers.failure(link.call(ask())), 'UNAVAILABLE', 'nothing')
    })

    it('let the calls that run end when they close, and refuse others', async () => {
      const held = new HeldCalls()
      const { link, server } = await peers.pair(held.handlers)
      const running = link.call(ask())
      await peers.world.until(() => held.requests.length === 1)

      const closing = server.close()
      await peers.world.until(() => link.state('prompt').kind !== 'connected')

      expectTransport(await peers.failure(link.call(ask())), 'UNAVAILABLE', 'nothing')
      held.answerAll()
      expect((await peers.settled(running)).toString()).to.equal('answer')
      await peers.settled(closing)
    })

    it('do not wait longer than their grace for calls that do not end', async () => {
      const held = new HeldCalls()
      const { link, server } = await peers.pair(held.handlers)
      const running = peers.failure(link.call(ask()))
      await peers.world.until(() => held.requests.length === 1)

      await peers.settled(server.close())

      expectTransport(await running, 'UNAVAILABLE', 'unknown')
      expect(held.reasons).to.have.length(1)
      held.answerAll()
    })

    it('have one link to each other node, until it is closed or the address changes', async () => {
      const { link, client, server } = await peers.pair(callHandler(async () => EMPTY))
      const address = await peers.world.addressOf(server)

      expect(client.link(address)).to.equal(link)
      const moved = client.link({ ...address, port: address.port + 1 })
      expect(link.state('prompt')).to.deep.equal({ kind: 'closed' })
      expect(moved).to.not.equal(link)
      await moved.close()
      const next = client.link(address)
      expect(next).to.not.equal(moved)
      await peers.settled(next.call(ask()))
      await next.close()
      expectTransport(await peers.failure(next.call(ask())), 'UNAVAILABLE', 'nothing')
    })

    it('fail the calls of a link that is closed while it connects', async () => {
      const { link } = await peers.pair(callHandler(async () => EMPTY))
      peers.world.hole(true)
      const call = peers.failure(link.call(ask()))
      const before = link.state('prompt')

      await link.close()

      expect(before).to.deep.equal({ kind: 'connecting' })
      expectTransport(await call, 'UNAVAILABLE', 'nothing')
      expect(link.send(ask())).to.equal(false)
    })

    it('fail the calls of a link that is closed', async () => {
      const held = new HeldCalls()
      const { link } = await peers.pair(held.handlers)
      const running = peers.failure(link.call(ask()))
      await peers.world.until(() => held.requests.length === 1)

      await link.close()

      expectTransport(await running, 'UNAVAILABLE', 'unknown')
      await peers.world.until(() => held.reasons.length === 1)
      held.answerAll()
    })
  })

  describe('lanes and urgency', () => {
    it('let a call pass a stream that stands still', async () => {
      const handlers = new Map<number, PeerHandler>([
        [1, { kind: 'call', handle: async () => body('passed') }],
        [2, { kind: 'stream', handle: () => endless({ made: 0 }, 100_000) }],
      ])
      const { link } = await peers.pair(handlers)
      const lanes = ['prompt', 'bulk'] as const
      for (const lane of lanes) {
        const stream = link.stream({ operation: 2, body: EMPTY }, { lane })
        const reader = stream[Symbol.asyncIterator]()
        await peers.settled(reader.next())
      }

      const answers = await peers.settled(
        Promise.all(lanes.map((lane) => link.call(ask(), { lane }))),
      )

      expect(answers.map(String)).to.deep.equal(['passed', 'passed'])
    })

    it('let small and urgent calls pass large ones', async () => {
      const order: string[] = []
      const { link } = await peers.pair(
        callHandler(async ({ body: asked }) => {
          order.push(`${asked.length}`)
          return EMPTY
        }),
      )
      await peers.settled(link.call(ask('')))
      const send = (size: number, urgent: boolean): Promise<Buffer> =>
        link.call({ operation: OPERATION, body: Buffer.alloc(size) }, { urgent })

      await peers.settled(
        Promise.all([send(2_000_000, false), send(3, false), send(2, true), send(1, true)]),
      )

      expect(order).to.deep.equal(['0', '2', '1', '3', '2000000'])
    })
  })

  describe('strangers', () => {
    const other = Buffer.alloc(32, 8)

    it('without the secret are refused', async () => {
      const message = await refusalOf(
        peers,
        { secrets: secretsOf(other) },
        { secrets: secretsOf(TEST_SECRET) },
      )

      expectNoNames(message)
    })

    it('of another cluster are refused, and told no name', async () => {
      const message = await refusalOf(peers, { cluster: 'museum' })

      expectNoNames(message)
    })

    it('that speak no common version are refused', async () => {
      const message = await refusalOf(peers, { versions: { min: 3, max: 4 } })

      expectNoNames(message)
    })

    it('that look for another node are refused, and told no name', async () => {
      const { server, client } = await peers.pair(callHandler(async () => EMPTY))
      const address = await peers.world.addressOf(server)
      const link = client.link({ ...address, nodeId: 'replaced' })

      const error = await peers.failure(link.call(ask()))

      expectTransport(error, 'UNAVAILABLE', 'nothing')
      expectNoNames(String(error))
    })

    it('cannot call themselves like the node that they dial', async () => {
      const { server } = await peers.pair(callHandler(async () => EMPTY))
      const twin = await peers.world.open({ nodeId: 'server' })

      const error = await peers.failure(twin.link(await peers.world.addressOf(server)).call(ask()))

      expectNoNames(String(error))
    })
  })

  describe('versions', () => {
    it('n and n + 1 talk to each other by the greatest common one', async () => {
      const ranges = [
        [{ min: 1, max: 1 }, { min: 1, max: 2 }, 1],
        [{ min: 1, max: 2 }, { min: 1, max: 1 }, 1],
        [{ min: 1, max: 2 }, { min: 2, max: 3 }, 2],
        [{ min: 1, max: 2 }, { min: 1, max: 2 }, 2],
      ] as const
      for (const [forServer, forClient, expected] of ranges) {
        const handlers = callHandler(async ({ version, body: asked }) =>
          body(`${version} ${asked.toString()}`),
        )
        const { link, server, client } = await peers.pair(handlers, {
          server: { versions: forServer },
          client: { versions: forClient },
        })

        const answer = await peers.settled(link.call({ operation: OPERATION, body: asVersion }))

        expect(answer.toString()).to.equal(`${expected} as ${expected}`)
        expect(link.state('prompt')).to.deep.equal({ kind: 'connected', version: expected })
        await peers.settled(Promise.all([server.close(), client.close()]))
      }
    })
  })
}

/** Why the client was refused. No handler ran. */
/** What a stranger is told: neither the node that it reached, nor the cluster. */
function expectNoNames(message: string): void {
  const [, told = ''] = message.split('refused: ')
  expect(told)
    .to.include('its log says why')
    .and.not.match(/server|library/)
}

async function refusalOf(
  peers: PeerFixture,
  client: Partial<NodeSettings>,
  server: Partial<NodeSettings> = {},
): Promise<string> {
  let calls = 0
  const handlers = callHandler(async () => {
    calls += 1
    return EMPTY
  })
  const { link } = await peers.pair(handlers, { client, server })
  const error = await peers.failure(link.call(ask()))
  expect(calls).to.equal(0)
  expectTransport(error, 'UNAVAILABLE', 'nothing')
  return isServiceError(error) ? error.message : ''
}

function asVersion(version: number): Buffer {
  return body(`as ${version}`)
}
