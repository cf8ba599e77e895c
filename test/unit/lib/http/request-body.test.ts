import { createServer, request as httpRequest } from 'node:http'
import type { ClientRequest, IncomingMessage } from 'node:http'
import { randomBytes } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import { isServiceError } from '../../../../lib/errors.ts'
import { RequestIds } from '../../../../lib/http/request-id.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { listen, SERVER_OPTIONS } from '../../../../lib/http/listener.ts'
import type { RunningServer } from '../../../../lib/http/listener.ts'
import { readBody } from '../../../../lib/http/request-body.ts'
import { PACE_WINDOW_MS, RequestMemory } from '../../../../lib/http/request-memory.ts'
import type { HeldMemory } from '../../../../lib/http/request-memory.ts'
import { until } from '../../../support/until.ts'

const MIB = 2 ** 20

type Outcome = Buffer | string

async function outcomeOf(request: IncomingMessage, memory: HeldMemory): Promise<Outcome> {
  try {
    return await readBody(request, { memory })
  } catch (error) {
    return isServiceError(error) ? error.code : String(error)
  }
}

describe('readBody with a budget', () => {
  let clock: ManualClock
  let budget: RequestMemory
  let server: RunningServer
  /** One for each request, in the order in which they came. */
  let outcomes: Promise<Outcome>[]
  let holdings: HeldMemory[]
  let onRequest: () => void

  beforeEach(async () => {
    clock = new ManualClock()
    budget = new RequestMemory({ bytesMax: 8 * MIB, clock })
    outcomes = []
    holdings = []
    onRequest = () => undefined
    const http = createServer(SERVER_OPTIONS, (request, response) => {
      const memory = budget.hold()
      holdings.push(memory)
      outcomes.push(outcomeOf(request, memory))
      void outcomes.at(-1)?.then(() => response.end())
      onRequest()
    })
    const options = {
      host: '127.0.0.1',
      port: 0,
      clock: systemClock,
      closeDeadlineMs: 10,
      ids: new RequestIds(seededRandom(1)),
    }
    server = await listen(http, options)
  })

  afterEach(() => server.close())

  /** Resolves when the server has the headers; the body is left to the caller. */
  async function post(headers: Record<string, string | number>): Promise<ClientRequest> {
    const { hostname, port } = new URL(server.url)
    const seen = new Promise<void>((resolve) => (onRequest = resolve))
    const sent = httpRequest({ hostname, port, method: 'POST', agent: false, headers })
    sent.on('error', () => undefined)
    sent.flushHeaders()
    await seen
    return sent
  }

  /** An upload of which `bytes` are there and held. */
  async function unfinished(bytes: number): Promise<ClientRequest> {
    const sent = await post({ 'content-length': 2 * bytes })
    sent.write(Buffer.alloc(bytes, 32))
    await until(async () => holdings.at(-1)?.bytes === bytes)
    return sent
  }

  it('is over at once for a request that announces none', async () => {
    const { hostname, port } = new URL(server.url)
    const begun = new Promise<void>((resolve) => (onRequest = resolve))

    httpRequest({ hostname, port, method: 'GET', agent: false }).end()
    await begun

    expect(await outcomes[0]).to.deep.equal(Buffer.alloc(0))
    expect(budget.heldBytes).to.equal(0)
  })

  it('returns long bodies unchanged, and holds their bytes', async () => {
    const body = Buffer.from(`"${randomBytes(MIB).toString('base64')}é"`)
    const sent = await post({ 'transfer-encoding': 'chunked' })

    sent.end(body)
    const outcome = await outcomes[0]

    expect(Buffer.isBuffer(outcome) && outcome.equals(body)).to.equal(true)
    expect(budget.heldBytes).to.equal(body.length)
  })

  it('holds the decompressed bytes of a body', async () => {
    const text = Buffer.alloc(3 * MIB, 32)
    const sent = await post({ 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' })

    sent.end(gzipSync(text))
    const outcome = await outcomes[0]

    expect(Buffer.isBuffer(outcome) && outcome.equals(text)).to.equal(true)
    expect(budget.heldBytes).to.equal(text.length)
  })

  it('refuses a body without room for it, and holds none of its bytes', async () => {
    const sent = await post({ 'content-length': 9 * MIB })

    sent.end(Buffer.alloc(9 * MIB, 32))

    expect(await outcomes[0]).to.equal('OVERLOADED')
    expect(budget.heldBytes).to.equal(0)
  })

  it('refuses a compressed body that has no room when it is decompressed', async () => {
    const sent = await post({ 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' })

    sent.end(gzipSync(Buffer.alloc(9 * MIB, 32)))

    expect(await outcomes[0]).to.equal('OVERLOADED')
  })

  it('refuses text that is invalid only far behind its beginning', async () => {
    const body = Buffer.alloc(3 * MIB, 'é')
    body[2 * MIB] = 0xff
    const sent = await post({ 'content-length': body.length })

    sent.end(body)

    expect(await outcomes[0]).to.equal('INVALID_ARGUMENT')
  })

  it('releases the bytes of a client that hangs up', async () => {
    const sent = await unfinished(2 * MIB)

    sent.destroy()

    expect(await outcomes[0]).to.equal('CANCELLED')
    expect(budget.heldBytes).to.equal(0)
  })

  it('gives the place of stalled uploads to others', async () => {
    await unfinished(4 * MIB)
    clock.advance(PACE_WINDOW_MS * 100)

    const sent = await post({ 'content-length': 6 * MIB })
    sent.end(Buffer.alloc(6 * MIB, 32))

    expect(await outcomes[0]).to.equal('OVERLOADED')
    expect((await outcomes[1])?.length).to.equal(6 * MIB)
  })

  it('keeps uploads that have just progressed', async () => {
    const first = await unfinished(4 * MIB)

    const second = await post({ 'content-length': 6 * MIB })
    second.end(Buffer.alloc(6 * MIB, 32))

    expect(await outcomes[1]).to.equal('OVERLOADED')
    first.end(Buffer.alloc(4 * MIB, 32))
    expect((await outcomes[0])?.length).to.equal(8 * MIB)
  })
})
