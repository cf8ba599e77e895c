import { expect } from 'chai'
import { RawClient } from '../support/servers/raw-client.ts'
import { startApi } from './api-harness.ts'
import type { Api, Received } from './api-harness.ts'

type Options = NonNullable<Parameters<typeof startApi>[0]>
type Headers = Readonly<Record<string, string>>

interface Case {
  readonly headers: Headers
  readonly status: number
}

const TABLES = { method: 'GET', path: '/api/v1/tables' } as const
const OPEN: Options = { host: '0.0.0.0', insecure: true }
const PAGE = 'http://localhost:3000'

const from = (host: string, origin?: string): Headers =>
  origin === undefined ? { host } : { host, origin }

const BY_SERVER: Readonly<Record<string, { options: Options; cases: Record<string, Case> }>> = {
  'on loopback': {
    options: {},
    cases: {
      'a program without an origin': { headers: {}, status: 200 },
      'a page of another site': { headers: { origin: 'https://example.com' }, status: 403 },
      'a sandboxed page': { headers: { origin: 'null' }, status: 403 },
      'a front end on another port': { headers: from('localhost:1', PAGE), status: 403 },
      'a foreign name that points here': { headers: from('rebound.example'), status: 403 },
      'a page of such a name': {
        headers: from('rebound.example:1', 'http://rebound.example:1'),
        status: 403,
      },
      'a private name that is not ours': { headers: from('db.internal'), status: 403 },
      'localhost by name': { headers: from('localhost:1'), status: 200 },
      'localhost in capitals': { headers: from('LOCALHOST:1'), status: 200 },
      'our own page': { headers: from('localhost:1', 'http://localhost:1'), status: 200 },
      'our own page in capitals': {
        headers: from('localhost:1', 'HTTP://LOCALHOST:1'),
        status: 200,
      },
      'our own page behind a proxy with TLS': {
        headers: from('localhost', 'https://localhost'),
        status: 200,
      },
      'a forwarded name, which nobody believes': {
        headers: {
          ...from('127.0.0.1:1', 'https://example.com'),
          'x-forwarded-host': 'example.com',
          forwarded: 'host=example.com;proto=https',
        },
        status: 403,
      },
    },
  },
  'on loopback with a public URL': {
    options: { publicUrls: ['https://quarry.example.com'] },
    cases: {
      'its page, host kept by the proxy': {
        headers: from('quarry.example.com', 'https://quarry.example.com'),
        status: 200,
      },
      'its page, host changed by the proxy': {
        headers: from('127.0.0.1:8080', 'https://quarry.example.com'),
        status: 200,
      },
      'a program that uses the name': { headers: from('quarry.example.com'), status: 200 },
      'a program on the machine': { headers: from('localhost:1'), status: 200 },
      'a page of another name': {
        headers: from('quarry.example.com', 'https://quarry.example.org'),
        status: 403,
      },
      'a foreign name that points here': { headers: from('rebound.example'), status: 403 },
    },
  },
  'beyond loopback': {
    options: OPEN,
    cases: {
      'a program with any name': { headers: from('db.example.com'), status: 200 },
      'its page by address': {
        headers: from('10.0.0.5:8080', 'http://10.0.0.5:8080'),
        status: 200,
      },
      'its page by an address of IPv6': {
        headers: from('[fd00::5]:8080', 'http://[fd00::5]:8080'),
        status: 200,
      },
      'its page by a private name': {
        headers: from('quarry.internal', 'https://quarry.internal'),
        status: 200,
      },
      'its page by a name without a dot': {
        headers: from('quarry:8080', 'http://quarry:8080'),
        status: 200,
      },
      'a page of a name that a stranger may own': {
        headers: from('rebound.example:8080', 'http://rebound.example:8080'),
        status: 403,
      },
      'a page of another port': { headers: from('10.0.0.5:8080', 'http://10.0.0.5'), status: 403 },
    },
  },
  'beyond loopback with a public URL': {
    options: { ...OPEN, publicUrls: ['https://quarry.example.com'] },
    cases: {
      'a program with an address': { headers: from('10.0.0.5:8080'), status: 200 },
      'a program with another name': { headers: from('rebound.example'), status: 403 },
      'its page': {
        headers: from('quarry.example.com', 'https://quarry.example.com'),
        status: 200,
      },
    },
  },
  'with an allowed origin': {
    options: { corsOrigins: [PAGE] },
    cases: {
      'a page of it': { headers: from('localhost:1', PAGE), status: 200 },
      'a page of another port': {
        headers: from('localhost:1', 'http://localhost:3001'),
        status: 403,
      },
      'a page whose name begins alike': {
        headers: from('localhost:1', `${PAGE}.example.com`),
        status: 403,
      },
      'a sandboxed page': { headers: from('localhost:1', 'null'), status: 403 },
      'a page of it by a foreign name': { headers: from('rebound.example', PAGE), status: 403 },
    },
  },
  'with all origins allowed': {
    options: { corsOrigins: ['*'] },
    cases: {
      'any page': { headers: from('localhost:1', 'https://example.com'), status: 200 },
      'a sandboxed page': { headers: from('localhost:1', 'null'), status: 200 },
      'a page whose name was made to point here': {
        headers: from('rebound.example', 'http://rebound.example'),
        status: 403,
      },
    },
  },
}

describe('requests that a page made a browser send', () => {
  for (const [server, { options, cases }] of Object.entries(BY_SERVER)) {
    describe(`to a server ${server}`, () => {
      let api: Api
      before(async () => {
        api = await startApi(options)
      })
      after(() => api[Symbol.asyncDispose]())

      for (const [name, { headers, status }] of Object.entries(cases)) {
        it(`${name} gets ${status}`, async () => {
          const answer = await api.send({ ...TABLES, headers })

          expect(answer.status, answer.body).to.equal(status)
          expect(answer.headers['access-control-allow-credentials']).to.equal(undefined)
          expect(answer.headers['x-request-id']).to.match(/^\w{6}-\w+$/)
          if (status === 403) expect(JSON.parse(answer.body)).to.include({ code: 'FORBIDDEN' })
        })
      }
    })
  }

  it('are refused before the body is read', async () => {
    await using api = await startApi()
    const headers = { origin: 'https://example.com' }

    await api.send({ method: 'POST', path: '/api/v1/tables/t', headers, body: '{}' })

    expect(await api.service.listTables({})).to.deep.equal([])
  })

  it('are refused with a hint how to allow a front end', async () => {
    await using api = await startApi()

    const { body } = await api.send({ ...TABLES, headers: { origin: PAGE } })

    expect(body).to.include(`start the server with --cors-origins ${PAGE}`)
  })
})

function cors({ headers }: Received) {
  return {
    allow: headers['access-control-allow-origin'],
    expose: headers['access-control-expose-headers'],
    vary: headers.vary,
  }
}

describe('answers to pages of an allowed origin', () => {
  const exact = {
    allow: PAGE,
    expose: 'X-Service-Version, X-Request-Id, X-Truncated, Retry-After',
    vary: 'Origin',
  }
  const headers = { origin: PAGE }

  it('may be read by the page, whatever the status', async () => {
    await using api = await startApi({ corsOrigins: [PAGE] })
    const requests = [
      TABLES,
      { method: 'GET', path: '/api/v1/tables/books/lookup/a' },
      { method: 'GET', path: '/nowhere' },
      { method: 'POST', path: '/api/v1/tables/books/batch', body: '{' },
      { method: 'POST', path: '/api/v1/tables/books/lookup', body: '{}' },
    ]

    for (const request of requests) {
      const answer = await api.send({ ...request, headers })
      expect(cors(answer), request.path).to.deep.equal(exact)
    }
  })

  it('vary by origin even for requests without one', async () => {
    await using api = await startApi({ corsOrigins: [PAGE] })

    expect(cors(await api.send(TABLES))).to.deep.equal({
      allow: undefined,
      expose: undefined,
      vary: 'Origin',
    })
  })

  it('are the same for all origins where all are allowed', async () => {
    await using api = await startApi({ corsOrigins: ['*'] })

    const answer = await api.send({ ...TABLES, headers })

    expect(cors(answer)).to.deep.equal({ ...exact, allow: '*', vary: undefined })
  })

  it('tell a preflight the methods and headers that may be sent', async () => {
    await using api = await startApi({ corsOrigins: [PAGE] })
    const asked = {
      ...headers,
      'access-control-request-method': 'PUT',
      'access-control-request-headers': 'content-type,idempotency-key',
    }

    const answer = await api.send({ method: 'OPTIONS', path: '/api/v1/tables/t', headers: asked })

    expect([answer.status, answer.body]).to.deep.equal([204, ''])
    expect(answer.headers).to.include({
      'access-control-allow-origin': PAGE,
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, DELETE',
      'access-control-allow-headers': 'content-type,idempotency-key',
      'access-control-max-age': '600',
      vary: 'Access-Control-Request-Headers, Origin',
    })
    expect(answer.headers['x-request-id']).to.match(/^\w{6}-\w+$/)
  })

  it('refuse the preflight of any other page', async () => {
    await using api = await startApi({ corsOrigins: [PAGE] })
    const asked = { origin: 'https://example.com', 'access-control-request-method': 'PUT' }

    const answer = await api.send({ method: 'OPTIONS', path: '/api/v1/tables/t', headers: asked })

    expect([answer.status, answer.headers['access-control-allow-origin']]).to.deep.equal([
      403,
      undefined,
    ])
  })
})

describe('a request that names two hosts', () => {
  for (const [where, options] of [
    ['on loopback', {}],
    ['beyond loopback', OPEN],
  ] as const) {
    it(`is refused ${where}`, async () => {
      await using api = await startApi(options)
      const { port } = new URL(api.url)
      const here = `127.0.0.1:${port}`
      const statusOf = async (target: string, ...hosts: readonly string[]): Promise<string> => {
        using client = await RawClient.open(`http://${here}`)
        const headers = hosts.map((each) => `Host: ${each}\r\n`).join('')
        await client.write(`GET ${target} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`)
        return (await client.until(/\r\n\r\n/)).slice(9, 12)
      }

      expect(await statusOf(TABLES.path, here)).to.equal('200')
      expect(await statusOf(`http://${here}${TABLES.path}`, here)).to.equal('200')
      expect(await statusOf(TABLES.path, here, 'rebound.example')).to.equal('400')
      expect(await statusOf(TABLES.path, 'rebound.example', here)).to.equal('400')
      expect(await statusOf(TABLES.path, here, here)).to.equal('400')
      expect(await statusOf(`http://rebound.example${TABLES.path}`, here)).to.equal('400')
    })
  }
})
