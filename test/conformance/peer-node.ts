import { expect } from 'chai'
import { ServiceError } from '../../lib/errors.ts'
import { TransportError } from '../../node/peer/peer.ts'
import { errorOf } from '../support/error-of.ts'
import {
  OPERATION,
  EMPTY,
  body,
  ask,
  handlersOf,
  callHandler,
  streamHandler,
  uploadHandler,
  HeldCalls,
  endless,
  partsOf,
  collect,
  expectTransport,
  PeerFixture,
} from '../support/peer/peer-fixture.ts'
import { TEST_LIMITS } from '../support/peer/peer-world.ts'
import type { PeerWorld } from '../support/peer/peer-world.ts'
import { describePeerFailures } from './peer-failures.ts'
import { describePeerSecrets } from './peer-secrets.ts'

const KIB = 1024

/** Every transport must pass. */
export function describePeerNode(name: string, openWorld: () => PeerWorld): void {
  describe(`${name}: PeerNode contract`, () => {
    const peers = new PeerFixture(openWorld)

    afterEach(() => peers.close())

    describe('calls', () => {
      it('answer with the bytes of the handler, who knows the caller', async () => {
        const { link } = await peers.pair(
          callHandler(async ({ from, version, body: asked }) =>
            body(`${from} ${version} ${asked.toString()}`),
          ),
        )

        const answer = await peers.settled(link.call(ask()))

        expect(answer.toString()).to.equal('client 1 question')
      })

      it('get each its own answer, in the order of the answers', async () => {
        const held = new Map<string, PromiseWithResolvers<Uint8Array>>()
        const { link } = await peers.pair(
          callHandler(({ body: asked }) => {
            const answer = Promise.withResolvers<Uint8Array>()
            held.set(asked.toString(), answer)
            return answer.promise
          }),
        )
        const done: string[] = []
        const calls = ['a', 'b', 'c'].map(async (text) => {
          const answer = await link.call(ask(text))
          done.push(`${text} ${answer.toString()}`)
        })
        await peers.world.until(() => held.size === 3)
        for (const text of ['c', 'a', 'b']) {
          held.get(text)?.resolve(body(text.toUpperCase()))
          await peers.world.until(() => done.some((line) => line.startsWith(text)))
        }
        await Promise.all(calls)

        expect(done).to.deep.equal(['c C', 'a A', 'b B'])
      })

      it('carry bodies of every size, far above a window, many at once', async () => {
        const { link } = await peers.pair(callHandler(async ({ body: asked }) => asked))
        const sizes = [0, 1, 64 * KIB - 65, 64 * KIB - 64, 64 * KIB - 63, 64 * KIB, 3_000_000]
        const bodies = [...sizes, ...sizes].map((size, at) => Buffer.alloc(size, at + 1))

        const answers = await peers.settled(
          Promise.all(bodies.map((one) => link.call({ operation: OPERATION, body: one }))),
        )

        expect(answers.map((answer, at) => answer.equals(bodies[at]!))).to.not.include(false)
      })

      it('carry large bodies although they do not fit memory together', async () => {
        const limits = { ...TEST_LIMITS, messageBytesMax: 400_000, largeBytesMax: 500_000 }
        const { link } = await peers.pair(
          callHandler(async ({ body: asked }) => asked),
          { server: { limits }, client: { limits } },
        )
        const asked = Array.from({ length: 30 }, (_, at) => Buffer.alloc(399_000, at))

        const answers = await peers.settled(
          Promise.all(asked.map((one) => link.call({ operation: OPERATION, body: one }))),
        )

        expect(answers.map((answer, at) => answer.equals(asked[at]!))).to.not.include(false)
      })

      it('are refused when they are larger than the other side takes', async () => {
        const limits = { ...TEST_LIMITS, messageBytesMax: 1000 }
        const { link } = await peers.pair(
          callHandler(async () => Buffer.alloc(1001)),
          { server: { limits }, client: { limits } },
        )

        const asked = peers.failure(link.call({ operation: OPERATION, body: Buffer.alloc(1001) }))
        expect(await asked).to.include({ code: 'PAYLOAD_TOO_LARGE' })
        expect(await peers.failure(link.call(ask()))).to.include({ code: 'PAYLOAD_TOO_LARGE' })
      })

      it('reject with the code and message of the handler', async () => {
        const { link } = await peers.pair(
          callHandler(async () => {
            throw new ServiceError('RANGE_MOVED', 'ask the neighbour: ä')
          }),
        )

        const error = await peers.failure(link.call(ask()))

        expect(error).to.include({ code: 'RANGE_MOVED', message: 'ask the neighbour: ä' })
        expect(error).to.not.be.instanceOf(TransportError)
      })

      it('reject with INTERNAL for a fault, which is told where it happened', async () => {
        const fault = new TypeError('a secret')
        const { link } = await peers.pair(
          callHandler(() => {
            throw fault
          }),
        )

        const error = await peers.failure(link.call(ask()))

        expect(error).to.include({ code: 'INTERNAL' })
        expect(String(error)).to.not.include('secret')
        expect(peers.world.faults).to.deep.equal([fault])
      })

      it('of another operation or kind are refused', async () => {
        const { link } = await peers.pair(callHandler(async () => EMPTY))

        const refused = { code: 'INVALID_ARGUMENT', happened: 'nothing' }
        const other = peers.failure(link.call({ operation: 2, body: EMPTY }))
        expect(await other).to.include(refused)
        expect(await peers.failure(collect(link.stream(ask())))).to.include(refused)
      })

      it('of an operation that a starting node does not have yet may be made again', async () => {
        const handlers = Object.assign(
          callHandler(async () => EMPTY),
          { isComplete: false },
        )
        const { link } = await peers.pair(handlers)

        await link.call(ask())
        const other = peers.failure(link.call({ operation: 2, body: EMPTY }))
        expect(await other).to.include({ code: 'UNAVAILABLE', happened: 'nothing' })
      })

      it('wait for a place, and are refused when too many wait', async () => {
        const held = new HeldCalls()
        const lane = { streamsMax: 2, windowBytes: 64 * KIB }
        const limits = { ...TEST_LIMITS, lanes: { prompt: lane, bulk: lane }, waitingMax: 1 }
        const { link } = await peers.pair(held.handlers, { server: { limits }, client: { limits } })
        const first = link.call(ask())
        await peers.world.until(() => held.requests.length === 1)
        const more = [link.call(ask()), link.call(ask())]

        expectTransport(await peers.failure(link.call(ask())), 'OVERLOADED', 'nothing')
        await peers.world.until(() => held.requests.length === 2)
        held.answerAll()
        await peers.world.until(() => held.requests.length === 3)
        held.answerAll()
        await peers.settled(Promise.all([first, ...more]))
      })
    })

    describe('streams', () => {
      it('bring parts in order and whole, empty and large ones among them', async () => {
        const parts = [0, 5, 200_000, 0, 1_500_000, 1].map((size, at) => Buffer.alloc(size, at))
        const { link } = await peers.pair(
          streamHandler(async function* () {
            yield* parts
          }),
        )

        const found = await peers.settled(collect(link.stream(ask())))

        expect(found.map(({ length }) => length)).to.deep.equal(parts.map(({ length }) => length))
        expect(found.map((part, at) => part.equals(parts[at]!))).to.not.include(false)
      })

      it('make no more than a window and what is on its way ahead of the reader', async () => {
        const count = { made: 0 }
        const { link } = await peers.pair(streamHandler(() => endless(count, 8 * KIB)))
        const reader = link.stream(ask())[Symbol.asyncIterator]()
        await peers.settled(reader.next())
        let before = -1
        await peers.world.until(() => {
          const isStill = before === count.made
          before = count.made
          return isStill
        })

        expect(count.made).to.be.below(64) // of 8 KiB: a window of 64 and 256 queued
        for (let reads = 0; reads < 200; reads++) await peers.settled(reader.next())
        expect(count.made).to.be.above(200)
        await reader.return?.()
      })

      it('abort the handler when the reader returns early', async () => {
        const count = { made: 0 }
        let signal: AbortSignal | undefined
        const { link } = await peers.pair(
          streamHandler((request) => {
            signal = request.signal
            return endless(count, 10)
          }),
        )
        const reading = (async () => {
          for await (const part of link.stream(ask())) if (part[0] === 3) break
        })()
        await peers.settled(reading)
        await peers.world.until(() => signal?.aborted === true)

        expect(signal?.reason).to.include({ code: 'CANCELLED' })
      })

      it('end with the error of the handler after the parts before it', async () => {
        const { link } = await peers.pair(
          streamHandler(async function* () {
            yield body('one')
            await Promise.resolve()
            throw new ServiceError('HISTORY_GONE', 'gone')
          }),
        )
        const found: string[] = []
        const reading = (async () => {
          for await (const part of link.stream(ask())) found.push(part.toString())
        })()

        expect(await peers.failure(reading)).to.include({ code: 'HISTORY_GONE' })
      })

      it('of which nobody reads the first part send nothing', async () => {
        const held = new HeldCalls()
        const { link } = await peers.pair(held.handlers)
        link.stream(ask())
        await peers.settled(link.call({ operation: 9, body: EMPTY }).catch(() => undefined))

        expect(held.requests).to.deep.equal([])
      })
    })

    describe('uploads', () => {
      it('bring parts in order and whole, and answer', async () => {
        const sizes = [0, 300_000, 1, 100, 2_000_000, 0]
        const { link } = await peers.pair(
          uploadHandler(async ({ body: head, parts }) => {
            const seen = await collect(parts)
            return body(`${head.toString()} ${seen.map(({ length }) => length).join()}`)
          }),
        )

        const answer = await peers.settled(link.upload(ask('head'), partsOf(sizes)))

        expect(answer.toString()).to.equal(`head ${sizes.join()}`)
      })

      it('are taken no more than a window and what is on its way ahead of the handler', async () => {
        const count = { made: 0 }
        const read = Promise.withResolvers<void>()
        const { link } = await peers.pair(
          uploadHandler(async ({ parts }) => {
            await read.promise
            let seen = 0
            for await (const part of parts) {
              seen += part.length
              if (seen > 4_000_000) break
            }
            return body('enough')
          }),
        )
        const uploading = link.upload(ask(), endless(count, 8 * KIB))
        let before = -1
        await peers.world.until(() => {
          const isStill = before === count.made && count.made > 0
          before = count.made
          return isStill
        })

        expect(count.made).to.be.below(64)
        read.resolve()
        expect((await peers.settled(uploading)).toString()).to.equal('enough')
        const { made } = count
        await peers.settled(link.call({ operation: 9, body: EMPTY }).catch(() => undefined))
        expect(count.made).to.be.at.most(made + 1)
      })

      it('whose parts fail are cancelled, and reject with that', async () => {
        const seen: unknown[] = []
        const begun = Promise.withResolvers<void>()
        const { link } = await peers.pair(
          uploadHandler(async ({ parts }) => {
            begun.resolve()
            seen.push(await errorOf(() => collect(parts)))
            return EMPTY
          }),
        )
        const disk = new Error('the disk does not answer')
        async function* failing(): AsyncGenerator<Uint8Array> {
          yield body('one')
          await begun.promise
          throw disk
        }

        expect(await peers.failure(link.upload(ask(), failing()))).to.equal(disk)
        await peers.world.until(() => seen.length === 1)
        expect(seen[0]).to.include({ code: 'CANCELLED' })
      })
    })

    describe('one-way messages', () => {
      it('arrive in the order of their sends, each once, small and large', async () => {
        const seen: string[] = []
        const { link } = await peers.pair(
          handlersOf({
            kind: 'message',
            handle: ({ body: sent }) => void seen.push(`${sent.length} ${sent[0]}`),
          }),
        )
        expect(link.send(ask())).to.equal(false) // it only connects
        await peers.world.until(() => link.state('prompt').kind === 'connected')
        const sent = Array.from({ length: 500 }, (_, at) => {
          return Buffer.alloc(at % 50 === 49 ? 200_000 : 1 + (at % 7), at)
        })

        const taken = sent.map((one) => link.send({ operation: OPERATION, body: one }))
        await peers.world.until(() => seen.length === sent.length)

        expect(taken).to.not.include(false)
        expect(seen).to.deep.equal(sent.map((one) => `${one.length} ${one[0]}`))
      })

      it('are dropped when too many bytes wait, because the handler does not keep up', async () => {
        const done = Promise.withResolvers<void>()
        let handled = 0
        const limits = { ...TEST_LIMITS, sendBytesMax: 100_000 }
        const { link } = await peers.pair(
          handlersOf({
            kind: 'message',
            handle: () => {
              handled += 1
              return done.promise
            },
          }),
          { client: { limits } },
        )
        await peers.connect(link)
        const send = (): boolean => link.send({ operation: OPERATION, body: Buffer.alloc(10_000) })
        let taken = 0
        await peers.world.until(() => {
          if (!send()) return true
          taken += 1
          return false
        })

        expect(taken).to.be.within(10, 20) // 100 000 that wait, and a window
        done.resolve()
        await peers.world.until(() => handled === taken)
        expect(send()).to.equal(true)
      })
    })

    describePeerFailures(peers)
    describePeerSecrets(peers)
  })
}
