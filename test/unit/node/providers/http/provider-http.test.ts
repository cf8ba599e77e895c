import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { once } from 'node:events'
import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../../lib/clock.ts'
import { HttpFailure, ProviderHttp } from '../../../../../node/providers/http/provider-http.ts'
import type { HttpAsk } from '../../../../../node/providers/http/provider-http.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { close, listen, portOf } from '../../../../support/servers/local-server.ts'
import {
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../../../support/servers/tls-certificate.ts'
import { until } from '../../../../support/until.ts'

const never = new AbortController().signal

describe('the HTTP client of providers', () => {
  let server: Server
  let client: ProviderHttp
  let connections: number
  let answer: (request: IncomingMessage, response: ServerResponse) => void

  beforeEach(async () => {
    connections = 0
    answer = (_request, response) => response.end('good')
    server = await listen('127.0.0.1', (request, response) => answer(request, response))
    server.on('connection', () => (connections += 1))
    client = new ProviderHttp({ clock: systemClock, isPublic: () => false, env: {} })
  })

  afterEach(async () => {
    client[Symbol.dispose]()
    await close(server)
  })

  function ask(more: Partial<HttpAsk> = {}): HttpAsk {
    return {
      url: `http://127.0.0.1:${portOf(server)}/`,
      headers: {},
      body: '{}',
      addresses: 'any',
      answerBytesMax: 1_000,
      timeoutMs: 20_000,
      signal: never,
      ...more,
    }
  }

  it('answers bodies up to the limit, and not one byte more, whatever is announced (PH1)', async () => {
    answer = (_request, response) => response.end(Buffer.alloc(1_000))
    expect((await client.ask(ask())).body).to.have.length(1_000)

    answer = (_request, response) => response.end(Buffer.alloc(1_001))
    expect((await failed(client.ask(ask()))).message).to.include('more than 1000 bytes')

    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '9999999999' })
      response.write(Buffer.alloc(2_000))
    }
    expect((await failed(client.ask(ask()))).message).to.include('more than 1000 bytes')
  })

  it('ends a request at its deadline, also within the answer (PH2)', async () => {
    const clock = new ManualClock()
    client = new ProviderHttp({ clock, isPublic: () => false, env: {} })
    const left: string[] = []
    const starts: ((response: ServerResponse) => void)[] = [
      () => undefined,
      (response) => response.write('begun'),
    ]

    for (const start of starts) {
      let arrived = false
      answer = (_request, response) => {
        response.on('close', () => left.push('left'))
        start(response)
        arrived = true
      }
      const work = failed(client.ask(ask({ timeoutMs: 5_000 })))
      await until(async () => arrived)
      clock.advance(5_000)
      const error = await work
      expect(error).to.be.instanceOf(HttpFailure)
      expect(error.message).to.equal('no whole answer within 5000 ms')
    }

    await until(async () => left.length === 2)
  })

  it('ends a request with the reason of its signal, also before it begins', async () => {
    const stop = new AbortController()
    answer = () => stop.abort(new Error('enough'))

    const within = await failed(client.ask(ask({ signal: stop.signal })))
    const before = await failed(client.ask(ask({ signal: stop.signal })))

    expect([within.message, before.message]).to.deep.equal(['enough', 'enough'])
    expect(connections).to.equal(1)
  })

  it('connects to no address that its rule refuses, by number or by name (PH3)', async () => {
    const port = portOf(server)

    for (const host of ['127.0.0.1', 'localhost']) {
      const url = `http://${host}:${port}/`
      const error = await failed(client.ask(ask({ url, addresses: 'public' })))
      expect(error.message, host).to.include('address is not allowed')
      expect(error.message).to.not.include('127.0.0.1')
    }
    expect(connections).to.equal(0)
  })

  it('takes no connection that a laxer rule opened', async () => {
    client = new ProviderHttp({ clock: systemClock, isPublic: () => true, env: {} })
    await client.ask(ask())
    await client.ask(ask())
    expect(connections).to.equal(1)

    await client.ask(ask({ addresses: 'public' }))
    expect(connections).to.equal(2)
  })

  it('makes a request again whose kept connection was reset, but once, and not on a new one', async () => {
    let requests = 0
    await client.ask(ask())
    answer = (request) => {
      requests += 1
      request.socket.resetAndDestroy()
    }

    const error = await failed(client.ask(ask()))
    const again = await failed(client.ask(ask()))

    expect([error.message, again.message]).to.deep.equal([
      'the connection broke (ECONNRESET)',
      'the connection broke (ECONNRESET)',
    ])
    expect(requests).to.equal(3) // two on a kept and a new connection, one on a new one
  })

  it('goes through the proxy of the environment, whose own address is free', async () => {
    const seen: (string | undefined)[] = []
    answer = (request, response) => {
      seen.push(request.url)
      response.end('by proxy')
    }
    const proxy = `http://localhost:${portOf(server)}`
    const env = { NODE_USE_ENV_PROXY: '1', http_proxy: proxy, no_proxy: 'localhost' }
    using proxied = new ProviderHttp({ clock: systemClock, isPublic: () => false, env })
    const url = 'http://models.invalid/v1/embeddings'

    const { body } = await proxied.ask(ask({ url, addresses: 'public' }))
    const inner = await failed(
      proxied.ask(ask({ url: 'http://127.0.0.1:1/', addresses: 'public' })),
    )

    expect(body.toString()).to.equal('by proxy')
    expect(seen).to.deep.equal([url])
    // The connection to the proxy was kept, is reset, and the second try goes through the proxy as well.
    const good = answer
    answer = (request) => {
      answer = good
      request.socket.resetAndDestroy()
    }
    const again = await proxied.ask(ask({ url, addresses: 'public' }))
    expect(again.body.toString()).to.equal('by proxy')
    expect(inner.message).to.include('address is not allowed')
  })

  it('says why it reached nobody', async () => {
    const lost = ask()
    await close(server)
    const closed = await failed(client.ask(lost))
    server = await listen('127.0.0.1', () => undefined)

    expect(closed.message).to.equal(
      'nothing listens there; start that server, or set its url (ECONNREFUSED)',
    )
  })

  it('trusts no certificate of an unknown authority', async () => {
    const safe = createTlsServer({ key: TEST_CERTIFICATE_KEY, cert: TEST_CERTIFICATE }).listen(
      0,
      '127.0.0.1',
    )
    await once(safe, 'listening')

    const url = `https://127.0.0.1:${portOf(safe)}/`
    const error = await failed(client.ask(ask({ url })))

    expect(error.message).to.include('not from a trusted authority')
    await close(safe)
  })
})

async function failed(work: Promise<unknown>): Promise<Error> {
  const error = await errorOf(() => work)
  expect(error).to.be.instanceOf(Error)
  return error instanceof Error ? error : new Error(String(error))
}
