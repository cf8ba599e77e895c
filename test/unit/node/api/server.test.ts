import { once } from 'node:events'
import { get as httpGet, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import { connect } from 'node:net'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { InvariantError } from '../../../../lib/assert.ts'
import { ServiceError } from '../../../../lib/errors.ts'
import { timestampOf } from '../../../../node/clock/hybrid-clock.ts'
import type { StoredDocument } from '../../../../node/reads/table-reader.ts'
import type { StoreService } from '../../../../node/store/store-service.ts'
import { ApiMetrics } from '../../../../node/api/metrics.ts'
import { prepareBooks, startApi } from '../../../contract/api-harness.ts'
import { until } from '../../../support/until.ts'

const MIB = 2 ** 20
const LOOKUP = '/api/v1/tables/books/lookup'
const PAGE = Buffer.from(`${JSON.stringify({ key: 'k', text: 'x'.repeat(100_000) })}\n`)
const FOUND: StoredDocument = { version: timestampOf(7n), json: Buffer.from('{}') }

/** Sends a scan and leaves the answer unread. */
async function startScan(url: string): Promise<IncomingMessage> {
  const { hostname, port } = new URL(url)
  const request = httpRequest({ hostname, port, path: LOOKUP, method: 'POST', agent: false })
  request.end()
  return new Promise((resolve) => request.once('response', resolve))
}

/** Endless pages that tell how many were asked for, and resolve `ended` when they are given up. */
function endlessPages() {
  const ended = Promise.withResolvers<number>()
  let asked = 0
  async function* pages() {
    try {
      for (;;) {
        asked += 1
        yield PAGE
      }
    } finally {
      ended.resolve(asked)
    }
  }
  return { pages, ended: ended.promise, asked: () => asked }
}

async function* brokenPages(...lines: readonly string[]): AsyncGenerator<Buffer> {
  for (const line of lines) yield Buffer.from(line)
  throw new ServiceError('UNAVAILABLE', 'shard 1 is gone')
}

function failUnexpectedly(): Promise<never> {
  return Promise.reject(new Error('secret of /etc/quarry'))
}

function breakInvariant(): never {
  throw new InvariantError('a belief')
}

/** A batch that waits until the client goes, as one does for a key that another transaction holds. */
function waitForClient(asked: () => void): StoreService['batch'] {
  return async (_writes, { signal }) => {
    asked()
    if (signal !== undefined) await once(signal, 'abort')
    signal?.throwIfAborted()
    throw new Error('the client never went away')
  }
}

function findLater(): Promise<StoredDocument> {
  return Promise.resolve(FOUND)
}

describe('startApiServer', () => {
  it('refuses a host that others can reach without --insecure', async () => {
    const refused = await startApi({ host: '0.0.0.0' }).catch((error: unknown) => error)
    expect(refused).to.be.instanceOf(ServiceError)
    expect(String(refused)).to.include('--insecure')

    await using open = await startApi({ host: '0.0.0.0', insecure: true })
    expect(open.url).to.match(/^http:\/\/0\.0\.0\.0:\d+$/)
  })

  for (const hotDoor of [true, false]) {
    describe(hotDoor ? 'with the hot door' : 'without the hot door', () => {
      it('hides the message of an unexpected error, and logs it under a request id', async () => {
        await using api = await startApi({ hotDoor, service: { lookup: failUnexpectedly } })

        const { status, body } = await api.send({ method: 'GET', path: `${LOOKUP}/k` })

        expect(status).to.equal(500)
        expect(body).to.match(
          /^{"error":"internal error; request id [0-9a-z]{6}-\d+","code":"INTERNAL"}$/,
        )
        const id = /id ([0-9a-z]{6}-\d+)/.exec(body)?.[1]
        expect(api.logged).to.have.length(1)
        expect(api.logged[0]).to.include(id).and.to.include('secret')
        expect(api.broken).to.have.length(0)
      })

      it('answers a broken invariant and reports it once', async () => {
        await using api = await startApi({ hotDoor, service: { lookup: breakInvariant } })

        const { status, body } = await api.send({ method: 'GET', path: `${LOOKUP}/k` })

        expect(status).to.equal(500)
        expect(body).to.not.include('a belief')
        expect(api.broken.map(({ message }) => message)).to.deep.equal(['a belief'])
      })

      it('answers a lookup that has to wait', async () => {
        await using api = await startApi({ hotDoor, service: { lookup: findLater } })

        const { status, headers } = await api.send({ method: 'GET', path: `${LOOKUP}/k` })

        expect([status, headers['x-service-version']]).to.deep.equal([200, '7'])
      })

      it('counts a client that disconnects while it waits apart from errors', async () => {
        const asked = Promise.withResolvers<void>()
        const metrics = new ApiMetrics()
        const batch = waitForClient(asked.resolve)
        await using api = await startApi({ hotDoor, metrics, service: { batch } })
        const { hostname, port } = new URL(api.url)
        const socket = connect(Number(port), hostname)
        const body = '{"inserts":{"k":{}}}'
        const path = '/api/v1/tables/books/batch'
        socket.write(
          `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        )
        await asked.promise

        socket.destroy()

        await until(async () => (await metrics.text()).includes('status="499"'))
        expect(await metrics.text()).to.not.include('status="500"')
        expect(api.logged).to.deep.equal([])
      })

      it('carries out pipelined writes in order, though the first is compressed (c2)', async () => {
        await using api = await startApi({ hotDoor })
        await prepareBooks(api)
        const { hostname, port } = new URL(api.url)
        const first = gzipSync(`{"inserts":{"p":{"v":"first"}}}${' '.repeat(200_000)}`)
        const second = Buffer.from('{"inserts":{"p":{"v":"second"}}}')
        const path = '/api/v1/tables/books/batch'
        const headOf = ({ length }: Buffer, more = ''): string =>
          `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${length}\r\n${more}\r\n`
        const socket = connect(Number(port), hostname)
        socket.write(headOf(first, 'Content-Encoding: gzip\r\n'))
        socket.write(first)
        socket.write(`${headOf(second)}${second.toString()}`)
        socket.write(`GET ${LOOKUP}/p HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`)
        let received = ''
        socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
        await once(socket, 'close')

        expect(received.match(/(?<=HTTP\/1\.1 )\d+/g)).to.deep.equal(['201', '201', '200'])
        expect(received).to.match(/\{"v":"second"\}$/)
      })

      it('refuses an upload when unfinished ones hold the whole budget (c2)', async () => {
        const metrics = new ApiMetrics()
        await using api = await startApi({ hotDoor, metrics, requestMemoryBytes: 3 * MIB })
        await prepareBooks(api)
        const { hostname, port } = new URL(api.url)
        const path = '/api/v1/tables/books/batch'
        const sockets = [1, 2].map(() => {
          const socket = connect(Number(port), hostname)
          socket.write(
            `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: ${2 * MIB}\r\n\r\n`,
          )
          socket.write(Buffer.alloc(MIB, ' '))
          return socket
        })
        await until(async () => (await metrics.text()).includes(`memory_bytes ${2 * MIB}\n`))

        const refused = await api.send({ method: 'POST', path, body: ' '.repeat(2 * MIB) })
        const small = await api.send({ method: 'POST', path, body: '{"inserts":{"s":{}}}' })

        for (const socket of sockets) socket.destroy()
        expect([refused.status, refused.headers['retry-after']]).to.deep.equal([503, '1'])
        expect(JSON.parse(refused.body)).to.include({ code: 'OVERLOADED' })
        expect(small.status).to.equal(201)
        await until(async () => (await metrics.text()).includes('memory_bytes 0\n'))
      })

      it('applies nothing when the client hangs up in the middle of a body', async () => {
        await using api = await startApi({ hotDoor })
        await prepareBooks(api)
        const { hostname, port } = new URL(api.url)
        const socket = connect(Number(port), hostname)
        await once(socket, 'connect')

        // The cut falls behind a complete batch, so only the declared length tells that more was meant.
        const path = '/api/v1/tables/books/batch'
        const head = `POST ${path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n`
        socket.write(`${head}{"inserts":{"cut":{}}}`)
        socket.end()
        socket.resume()
        await once(socket, 'close')

        const { status } = await api.send({ method: 'GET', path: `${LOOKUP}/cut` })
        expect(status).to.equal(404)
        expect(api.logged).to.deep.equal([])
      })
    })
  }

  it('breaks a scan off with a last line that holds the reason', async () => {
    await using api = await startApi({
      service: { scan: async () => brokenPages('{"key":"a"}\n') },
    })

    const response = await startScan(api.url)
    let text = ''
    response.on('data', (chunk: Buffer) => (text += chunk.toString()))
    const [error] = await once(response, 'error')

    expect(String(error)).to.include('aborted')
    expect(text).to.equal('{"key":"a"}\n{"error":"shard 1 is gone","code":"UNAVAILABLE"}\n')
  })

  it('answers a scan that fails before its first page with a plain error', async () => {
    await using api = await startApi({ service: { scan: async () => brokenPages() } })

    const { status, body } = await api.send({ method: 'POST', path: LOOKUP })

    expect(status).to.equal(503)
    expect(body).to.equal('{"error":"shard 1 is gone","code":"UNAVAILABLE"}')
  })

  it('asks for no more pages than the client reads, and stops when it disconnects', async () => {
    const { pages, ended, asked } = endlessPages()
    await using api = await startApi({ service: { scan: async () => pages() } })
    const response = await startScan(api.url)

    response.destroy()
    await ended

    // What the buffers of two sockets hold, at 100 kB a page; without back-pressure it has no end.
    expect(asked()).to.be.lessThan(200)
    expect(api.logged).to.deep.equal([])
  })

  it('disconnects a client that stops reading a scan', async () => {
    const { pages, ended } = endlessPages()
    await using api = await startApi({ writeTimeoutMs: 50, service: { scan: async () => pages() } })
    const response = await startScan(api.url)

    expect(await ended).to.be.greaterThan(0)

    response.resume()
    const [error] = await once(response, 'error')
    expect(String(error)).to.include('aborted')
  })

  it('lets a running request finish before it closes', async () => {
    const asked = Promise.withResolvers<void>()
    const found = Promise.withResolvers<StoredDocument>()
    const lookup = () => {
      asked.resolve()
      return found.promise
    }
    const api = await startApi({ service: { lookup } })
    const answer = api.send({ method: 'GET', path: `${LOOKUP}/k` })
    await asked.promise

    const closed = api[Symbol.asyncDispose]()
    found.resolve(FOUND)

    expect((await answer).status).to.equal(200)
    await closed
  })

  it('cuts a request that outlives the deadline of closing', async () => {
    const asked = Promise.withResolvers<void>()
    const lookup = () => {
      asked.resolve()
      return new Promise<StoredDocument>(() => {})
    }
    const api = await startApi({ closeDeadlineMs: 20, service: { lookup } })
    const answer = api.send({ method: 'GET', path: `${LOOKUP}/k` }).catch((error: unknown) => error)
    await asked.promise

    await api[Symbol.asyncDispose]()

    expect(await answer).to.be.instanceOf(Error)
  })

  it('cuts idle connections when it closes', async () => {
    const api = await startApi()
    const response = await new Promise<IncomingMessage>((resolve) => {
      httpGet(`${api.url}/healthz`, resolve)
    })
    const isCut = once(response.socket, 'close')
    response.resume()
    await once(response, 'end')

    await api[Symbol.asyncDispose]()

    await isCut
  })

  it('answers requests that are not HTTP, and headers that are too large', async () => {
    await using api = await startApi()

    const garbage = await sendRaw(api.url, 'hello\r\n\r\n')
    const headers = await sendRaw(api.url, `GET / HTTP/1.1\r\nA: ${'x'.repeat(20_000)}\r\n\r\n`)
    const old = await sendRaw(api.url, 'GET /healthz\r\n\r\n')
    const smuggled = await sendRaw(
      api.url,
      'POST /api/v1/batch HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
    )

    expect(garbage).to.match(/^HTTP\/1\.1 400 .*"code":"INVALID_ARGUMENT"}$/s)
    expect(headers).to.match(/^HTTP\/1\.1 431 .*"code":"INVALID_ARGUMENT"}$/s)
    expect(old).to.match(/^HTTP\/1\.1 400 .*HTTP\/0\.9 is not spoken here.*"}$/s)
    expect(smuggled).to.match(/^HTTP\/1\.1 400 /)
  })
})

async function sendRaw(url: string, text: string): Promise<string> {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.end(text)
  let received = ''
  socket.on('data', (chunk: Buffer) => (received += chunk.toString()))
  await once(socket, 'close')
  return received
}
