import { once } from 'node:events'
import { createServer, get } from 'node:http'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { setImmediate } from 'node:timers/promises'
import { expect } from 'chai'
import { sendEvents } from '../../../../inference/api/event-stream.ts'
import { must } from '../../../../lib/assert.ts'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import { listen } from '../../../../lib/http/listener.ts'
import { RequestIds } from '../../../../lib/http/request-id.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { until } from '../../../support/until.ts'

const PING = ': still here\n\n'
const WRITE_TIMEOUT_MS = 30_000
const LISTEN = {
  host: '127.0.0.1',
  port: 0,
  clock: systemClock,
  closeDeadlineMs: 1_000,
  ids: new RequestIds(seededRandom(1)),
}
const errorBodyOf = (error: unknown): object => ({ error: String(error) })

describe('sendEvents', () => {
  let server: Server
  let clock: ManualClock

  beforeEach(() => {
    server = createServer()
    clock = new ManualClock()
  })

  afterEach(() => {
    server.closeAllConnections()
    server.close()
  })

  /** One request: what the client receives, the server's side of it, and the end of the sending. */
  async function exchange(events: AsyncIterable<string>): Promise<{
    readonly received: Promise<IncomingMessage>
    readonly response: ServerResponse
    readonly sent: Promise<void>
  }> {
    const { url } = await listen(server, LISTEN)
    const request = get(url)
    request.on('error', () => undefined) // cut off by the test's end
    const received = once(request, 'response').then(([message]: IncomingMessage[]) => message!)
    const [, served]: ServerResponse[] = await once(server, 'request')
    const response = must(served, 'a response')
    const left = new AbortController()
    response.once('close', () => left.abort())
    const sent = sendEvents(events, 'sse', {
      response,
      clock,
      writeTimeoutMs: WRITE_TIMEOUT_MS,
      signal: left.signal,
      errorBodyOf,
    })
    return { received, response, sent }
  }

  it('ends with [DONE] after the last event (ES2)', async () => {
    const { received, sent } = await exchange(listed('a', 'b'))

    expect(await text(await received)).to.equal('data: a\n\ndata: b\n\ndata: [DONE]\n\n')
    await sent
  })

  it('ends with the body of an error that comes after the first event (ES2)', async () => {
    const { received, sent } = await exchange(failing('broken', 'a'))

    expect(await text(await received)).to.equal('data: a\n\ndata: {"error":"Error: broken"}\n\n')
    await sent
  })

  it('sends nothing when the first event fails, so that an error reply is possible', async () => {
    const { response, sent } = await exchange(failing('broken'))

    const failure = await sent.catch((error: unknown) => String(error))

    expect(failure).to.equal('Error: broken')
    expect(response.headersSent).to.equal(false)
  })

  it('asks for the next event when the last one has left (ES1)', async () => {
    let produced = 0
    async function* large(): AsyncGenerator<string> {
      for (; produced < 64; produced += 1) yield 'x'.repeat(1024 * 1024)
    }
    const { received, response, sent } = await exchange(large())
    // The kernel takes some of it, at its own pace.
    await until(async () => {
      const before = produced
      for (let turn = 0; turn < 20; turn += 1) await setImmediate()
      return response.writableNeedDrain && produced === before
    })

    expect(produced).to.be.lessThan(64)
    ;(await received).resume()
    await sent
    expect(produced).to.equal(64)
  })

  it('disconnects a client that takes nothing for the write timeout (ES3)', async () => {
    let isLeft = false
    async function* endless(): AsyncGenerator<string> {
      try {
        for (;;) yield 'x'.repeat(1024 * 1024)
      } finally {
        isLeft = true
      }
    }
    const { response, sent } = await exchange(endless())
    await until(async () => {
      clock.advance(WRITE_TIMEOUT_MS)
      await setImmediate()
      return response.destroyed
    })

    await sent

    expect(isLeft).to.equal(true)
  })

  it('sends pings in a long silence, and ends the iteration when the client disconnects', async () => {
    let isLeft = false
    const silence = Promise.withResolvers<void>()
    async function* silent(): AsyncGenerator<string> {
      try {
        yield 'a'
        await silence.promise
      } finally {
        isLeft = true
      }
    }
    const { received, sent } = await exchange(silent())
    const message = await received
    const chunks: string[] = []
    message.setEncoding('utf8').on('data', (chunk: string) => chunks.push(chunk))
    await until(async () => chunks.join('') === 'data: a\n\n')

    clock.advance(15_000)
    await until(async () => chunks.join('').endsWith(PING))

    message.destroy()
    silence.resolve()
    await sent
    expect(isLeft).to.equal(true)
  })
})

async function* listed(...events: readonly string[]): AsyncGenerator<string> {
  yield* events
}

async function* failing(why: string, ...events: readonly string[]): AsyncGenerator<string> {
  yield* events
  throw new Error(why)
}
