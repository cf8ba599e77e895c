import { once } from 'node:events'
import { createServer } from 'node:http'
import type { Server, ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { sendPieces } from '../../../../inference/api/answer-sender.ts'
import type { Pieces } from '../../../../inference/api/answer-sender.ts'
import { ManualClock } from '../../../../lib/clock.ts'
import { until } from '../../../support/until.ts'

/** More than the kernel keeps for a client that does not read. */
const LARGE_BYTES = 64 * 1024 * 1024
const NEVER = new AbortController().signal
const WRITE_TIMEOUT_MS = 30_000

describe('an answer', () => {
  let server: Server
  let client: Socket
  let response: ServerResponse
  const clock = new ManualClock()

  beforeEach(async () => {
    server = createServer()
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    client = connect(typeof address === 'object' ? (address?.port ?? 0) : 0, '127.0.0.1')
    client.on('error', () => undefined)
    const asked = once(server, 'request')
    client.write('GET / HTTP/1.1\r\nHost: localhost\r\n\r\n')
    response = (await asked)[1]
  })

  afterEach(async () => {
    client.destroy()
    server.closeAllConnections()
    server.close()
  })

  const send = (bytes: number, signal = NEVER): Promise<void> =>
    sendPieces(piecesOf([Buffer.alloc(bytes / 2), Buffer.alloc(bytes / 2)].values()), {
      response,
      clock,
      writeTimeoutMs: WRITE_TIMEOUT_MS,
      signal,
    })

  it('has been sent when the client has all of it', async () => {
    let received = 0
    client.on('data', (bytes) => (received += bytes.length))

    await send(LARGE_BYTES)

    expect(response.writableFinished).to.equal(true)
    await until(async () => received > LARGE_BYTES)
  })

  for (const bytes of [1024, LARGE_BYTES]) {
    it(`of ${bytes} bytes ends when the client goes away`, async () => {
      const sent = send(bytes)
      client.resetAndDestroy()

      await sent
    })
  }

  it('ends when the client went away while the next piece was made', async () => {
    // Between two turns nobody listens to the connection.
    function* pieces(): Generator<Buffer> {
      yield Buffer.alloc(LARGE_BYTES / 2)
      yield Buffer.alloc(LARGE_BYTES / 2)
      response.destroy()
      for (let turns = 0; turns < 5; turns += 1) {
        clock.advance(10) // so that the next piece is made in another turn
        yield Buffer.alloc(10)
      }
      yield Buffer.alloc(LARGE_BYTES / 2)
    }
    const closed = once(response, 'close')
    client.resume()

    const sending = { response, clock, writeTimeoutMs: WRITE_TIMEOUT_MS, signal: NEVER }
    await sendPieces(piecesOf(pieces()), sending)
    await closed
  })

  it('is given up when the client reads nothing for long', async () => {
    let isOver = false
    const sent = send(LARGE_BYTES).then(() => (isOver = true))
    await until(async () => response.writableNeedDrain)

    clock.advance(WRITE_TIMEOUT_MS - 1)
    expect([isOver, response.destroyed]).to.deep.equal([false, false])
    clock.advance(1)
    await sent

    expect(response.destroyed).to.equal(true)
  })

  it('is cut when the request has taken too long', async () => {
    const over = new AbortController()
    const sent = send(LARGE_BYTES, over.signal)
    await until(async () => response.writableNeedDrain)
    over.abort()

    client.resume()
    await sent

    expect([response.destroyed, response.writableFinished]).to.deep.equal([true, false])
  })
})

function piecesOf(pieces: Iterator<Buffer>): Pieces {
  return { pieces, headers: [], bytes: undefined }
}
