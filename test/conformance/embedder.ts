// The contract of Embedder, for every provider, against a server that speaks its protocol.

import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import { probeDimension } from '../../node/providers/embedding/probe-dimension.ts'
import type { EmbedPart, Embedder } from '../../node/providers/contract/provider.ts'
import { isProviderError } from '../../node/providers/contract/provider-error.ts'
import type { ProviderFailure } from '../../node/providers/contract/provider-error.ts'
import {
  DIMENSION,
  ProviderServer,
  doubleVector,
} from '../support/servers/providers/provider-server.ts'
import type { Fault } from '../support/servers/providers/provider-server.ts'
import type { WireDouble } from '../support/servers/providers/wire-doubles.ts'
import { errorOf } from '../support/error-of.ts'
import { until } from '../support/until.ts'

/** One provider under test. */
export interface EmbedderSubject {
  readonly double: WireDouble
  /** Opens the embedder at a server. Its requests may take as long as `timeoutMs`. */
  open(url: string, timeoutMs: number): Embedder
  /** Texts that one request may have, when the model's answers are known. */
  readonly itemsMax: number
  /** What must not be shown. */
  readonly secret: string | undefined
}

const LONG_MS = 20_000
const SHORT_MS = 1_000

/** `says` is the part of the message that names what was wrong. */
const FAULTS: Readonly<
  Record<Fault['kind'], { fault: Fault; kind: ProviderFailure['kind']; says: RegExp }>
> = {
  status: { fault: { kind: 'status', status: 500 }, kind: 'unavailable', says: /status 500/ },
  echo: { fault: { kind: 'echo' }, kind: 'refused', says: /status 401: .*bad key/ },
  silent: { fault: { kind: 'silent' }, kind: 'unavailable', says: /within 1000 ms/ },
  endless: { fault: { kind: 'endless' }, kind: 'unavailable', says: /more than \d+ bytes|within/ },
  'wrong-count': {
    fault: { kind: 'wrong-count' },
    kind: 'unavailable',
    says: /vectors to 2 inputs|vector to 1|are not|not an integer|two vectors|not a list|not JSON/,
  },
  'wrong-dimension': {
    fault: { kind: 'wrong-dimension' },
    kind: 'unavailable',
    says: /a vector of 5 numbers, expected 4/,
  },
  'not-finite': { fault: { kind: 'not-finite' }, kind: 'unavailable', says: /not finite/ },
  'not-json': { fault: { kind: 'not-json' }, kind: 'unavailable', says: /not JSON|not 2 vectors/ },
  'reset-before': { fault: { kind: 'reset-before' }, kind: 'unavailable', says: /broke/ },
  'reset-within': { fault: { kind: 'reset-within' }, kind: 'unavailable', says: /broke/ },
  redirect: {
    fault: { kind: 'redirect', to: 'http://127.0.0.1:1/' },
    kind: 'refused',
    says: /status 307.*redirects are not followed/,
  },
}

export function describeEmbedder(name: string, subject: EmbedderSubject): void {
  describe(`an embedder: ${name}`, () => {
    let server: ProviderServer
    let embedder: Embedder

    beforeEach(async () => {
      server = await ProviderServer.start(subject.double)
      embedder = subject.open(server.url, LONG_MS)
    })

    afterEach(async () => {
      await embedder.close()
      await server[Symbol.asyncDispose]()
    })

    const never = new AbortController().signal
    const embed = (...texts: readonly string[]): Promise<readonly Float32Array[]> =>
      embedder.embed(items(...texts), { signal: never, use: 'document' })

    it('embeds items in order, in requests within its limits', async () => {
      const count = subject.itemsMax * 2 + 3
      const texts = Array.from({ length: count }, (_, at) => `text ${'x'.repeat(at % 50)} ${at}`)

      const vectors = await embed(...texts)

      expect(vectors.map((vector) => [...vector])).to.deep.equal(texts.map(doubleVector))
      for (const request of server.received) {
        expect(subject.double.textsOf(request).length).to.be.at.most(subject.itemsMax)
      }
      expect(server.received.length).to.be.at.least(3)
    })

    it('asks nothing about no items, and refuses an item without parts', async () => {
      expect(await embed()).to.deep.equal([])
      const refusal = await failureOf(embedder.embed([[]], { signal: never, use: 'query' }))

      expect(refusal).to.have.property('code', 'INVALID_ARGUMENT')
      expect(server.received).to.deep.equal([])
    })

    it('tells its dimension by a probe', async () => {
      expect(await probeDimension(embedder, { signal: never, clock: systemClock })).to.equal(
        DIMENSION,
      )
    })

    it('keeps its connection, and needs another only when the server has closed it', async () => {
      await embed('one')
      await embed('two')
      expect(server.connections).to.equal(1)

      server.closeKept()
      const [vector] = await embed('three')

      expect([...(vector ?? [])]).to.deep.equal(doubleVector('three'))
      expect(server.connections).to.equal(2)
    })

    it('says 429 with the time of Retry-After, and without it', async () => {
      server.failNext(
        { kind: 'status', status: 429, retryAfter: '0.2' },
        { kind: 'status', status: 429 },
      )

      const first = await failureOf(embed('a'))
      await embedder.close()
      embedder = subject.open(server.url, LONG_MS) // of a pace of its own
      const second = await failureOf(embed('a'))

      expect(isProviderError(first) && first.failure).to.deep.equal({
        kind: 'rate_limited',
        retryAfterMs: 200,
      })
      expect(isProviderError(second) && second.failure).to.deep.equal({ kind: 'rate_limited' })
      expect(first).to.have.property('code', 'OVERLOADED')
    })

    for (const [kind, { fault, kind: failure, says }] of Object.entries(FAULTS)) {
      it(`reports a fault of the server: ${kind}; and embeds afterwards`, async () => {
        await embedder.close()
        embedder = subject.open(server.url, kind === 'silent' ? SHORT_MS : LONG_MS)
        await embed('known')
        // A connection that was kept may be closed at any time, so the first of these two is met by a second try.
        server.failNext(...(fault.kind === 'reset-before' ? [fault, fault] : [fault]))

        const error = await failureOf(
          fault.kind === 'not-json' || fault.kind === 'wrong-count'
            ? embed('ab', 'c')
            : embed('ab'),
        )

        expect(error.message).to.match(says)
        expect(error.message.startsWith(embedder.name.split(' ')[0] ?? '')).to.equal(true)
        expect(isProviderError(error) && error.failure.kind).to.equal(failure)
        if (subject.secret !== undefined) expect(wholeText(error)).to.not.include(subject.secret)
        expect([...((await embed('z'))[0] ?? [])]).to.deep.equal(doubleVector('z'))
      })
    }

    it('takes a dimension that it answers again for the one of its model', async () => {
      await embed('known')
      server.failNext({ kind: 'wrong-dimension' }, { kind: 'wrong-dimension' })

      const once = await failureOf(embed('ab'))
      const [again] = await embed('ab')

      expect(once.message).to.match(/a vector of 5 numbers, expected 4/)
      expect([...(again ?? [])]).to.deep.equal([...doubleVector('ab'), 5])
    })

    it('ends its request when the signal aborts, with the reason', async () => {
      const stop = new AbortController()
      server.failNext({ kind: 'silent' })
      const work = embedder.embed(items('a'), { signal: stop.signal, use: 'query' })
      await until(async () => server.received.length === 1)

      stop.abort(new Error('enough'))

      expect(await failureOf(work)).to.have.property('message', 'enough')
      await until(async () => server.left === 1)
    })

    it('ends its requests when it is closed, and takes no more', async () => {
      server.failNext({ kind: 'silent' })
      const work = embed('a')
      const ended = failureOf(work)
      await until(async () => server.received.length === 1)

      await embedder.close()

      for (const error of [await ended, await failureOf(embed('b'))]) {
        expect(isServiceError(error) && error.code).to.equal('UNAVAILABLE')
        expect(error.message).to.include('closed')
      }
    })
  })
}

function items(...texts: readonly string[]): EmbedPart[][] {
  return texts.map((text) => [{ kind: 'text', text }])
}

async function failureOf(work: Promise<unknown>): Promise<Error> {
  const error = await errorOf(() => work)
  return error instanceof Error ? error : new Error(String(error))
}

/** The message, the stack and all causes. */
function wholeText(error: unknown): string {
  if (!(error instanceof Error)) return String(error)
  return `${error.message} ${error.stack} ${JSON.stringify(error)} ${wholeText(error.cause ?? '')}`
}
