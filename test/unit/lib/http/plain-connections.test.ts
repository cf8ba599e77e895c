import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect } from 'chai'
import { must } from '../../../../lib/assert.ts'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import { listen, type RunningServer } from '../../../../lib/http/listener.ts'
import { PlainConnections, type PlainConnection } from '../../../../lib/http/plain-connections.ts'
import type { PlainRequest } from '../../../../lib/http/plain-request.ts'
import { RequestIds } from '../../../../lib/http/request-id.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { RawClient } from '../../../support/servers/raw-client.ts'
import { until } from '../../../support/until.ts'

const CLOSE_DEADLINE_MS = 10_000
const get = (target: string, more = ''): string =>
  `GET ${target} HTTP/1.1\r\nHost: a\r\n${more}\r\n`
/** Only node:http reads it. */
const other = (target: string): string => get(target, 'X-Other: 1\r\n')

interface Served {
  readonly request: PlainRequest
  readonly connection: PlainConnection
}

function answerByNode({ url }: IncomingMessage, response: ServerResponse): void {
  response.end(`node ${url}`)
}

function answer({ request, connection }: Served): void {
  const body = Buffer.from(`plain ${request.target}`)
  connection.send(`HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n`, body)
}

describe('plain connections', () => {
  let plain: Served[]
  let sockets: Socket[]
  let onPlain: ((served: Served) => void) | undefined
  let clock: ManualClock
  let server: RunningServer
  let client: RawClient

  /** Resolves when a plain request is served, which then has no answer yet. */
  function nextServed(): Promise<Served> {
    return new Promise((resolve) => {
      onPlain = resolve
    })
  }

  /** Lets the server look at its connections once in each second. */
  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second++) {
      clock.advance(1000)
      await nextTurn()
    }
  }

  beforeEach(async () => {
    plain = []
    sockets = []
    onPlain = answer
    const http = createServer(answerByNode)
    clock = new ManualClock()
    const connections = new PlainConnections(http, {
      clock,
      serve: (request, connection) => {
        if (request.target === '/declined') return false
        plain.push({ request, connection })
        onPlain?.({ request, connection })
        return true
      },
    })
    http.on('connection', (socket) => sockets.push(socket))
    server = await listen(http, {
      host: '127.0.0.1',
      port: 0,
      clock: systemClock,
      closeDeadlineMs: CLOSE_DEADLINE_MS,
      ids: new RequestIds(seededRandom(1)),
      plain: connections,
    })
    client = await RawClient.open(server.url)
  })

  afterEach(async () => {
    client[Symbol.dispose]()
    await server.close()
  })

  it('serve one request after the other, with the headers that node:http sends', async () => {
    await client.write(get('/1'))
    const first = await client.until(/plain \/1/)
    await client.write(get('/2'))
    await client.until(/plain \/2/)

    expect(first).to.match(/^HTTP\/1\.1 200 OK\r\nContent-Length: 8\r\nDate: \w{3}, .+ GMT\r\n/)
    expect(first).to.include('\r\nConnection: keep-alive\r\nKeep-Alive: timeout=5\r\n\r\nplain /1')
  })

  it('are those of node:http from the first request on that is not plain', async () => {
    await client.write(get('/1'))
    await client.until(/plain \/1/)
    await client.write(other('/2'))
    await client.until(/node \/2/)
    await client.write(get('/3'))

    expect(await client.until(/node \/3/)).not.to.include('plain /3')
  })

  it('are those of node:http from a declined request on', async () => {
    await client.write(get('/declined'))

    expect(await client.until(/node \/declined/)).not.to.include('plain')
  })

  it('leave a request that comes in parts to node:http', async () => {
    await client.write(get('/1').slice(0, 20))
    await until(async () => sockets[0]?.bytesRead === 20)
    await client.write(get('/1').slice(20))

    expect(await client.until(/node \/1/)).to.include('200 OK')
  })

  it('leave several requests at once to node:http, in order', async () => {
    await client.write(get('/1') + get('/2'))

    expect(await client.until(/node \/2/)).to.match(/node \/1[^]+node \/2/)
  })

  it('answer a request before node:http reads the one that came meanwhile', async () => {
    const serving = nextServed()
    await client.write(get('/1'))
    const served = await serving
    const paused = once(must(sockets[0], 'socket'), 'pause')
    await client.write(get('/2') + get('/3'))
    await paused

    answer(served)

    expect(await client.until(/node \/3/)).to.match(/plain \/1[^]+node \/2[^]+node \/3/)
    expect(plain).to.have.length(1)
  })

  it('tell that the client has left before its answer, and only then', async () => {
    await client.write(get('/1'))
    await client.until(/plain \/1/)
    const serving = nextServed()
    await client.write(get('/2'))
    const { connection } = await serving
    const gone = new Promise<void>((resolve) => connection.whenGone(resolve))

    client[Symbol.dispose]()
    await gone

    expect(connection.isGone).to.equal(true)
    await new Promise<void>((resolve) => connection.whenGone(resolve))
  })

  it('refuse a connection on which no request comes for a minute', async () => {
    await until(async () => sockets.length > 0)

    await pass(60)
    expect(client.received).to.equal('')
    await pass(1)

    expect(await client.until(/\}$/)).to.match(/^HTTP\/1\.1 408 .+DEADLINE_EXCEEDED/s)
  })

  it('end when no other request comes for as long as Keep-Alive says, and a second', async () => {
    await client.write(get('/1'))
    await client.until(/plain \/1/)
    await pass(6)
    await client.write(get('/2'))
    await client.until(/plain \/2/)

    const closed = once(client.socket, 'close')
    await pass(7)

    await closed
  })

  it('wait for the answer as long as it takes', async () => {
    const serving = nextServed()
    await client.write(get('/1'))
    const served = await serving

    await pass(100)
    answer(served)

    expect(await client.until(/plain \/1/)).to.include('200 OK')
  })

  it('send a long body, and serve the next request after it', async () => {
    const body = Buffer.alloc(1024 * 1024, 'x')
    const serving = nextServed()
    await client.write(get('/1'))
    const { connection } = await serving
    const head = `HTTP/1.1 200 OK\r\nContent-Length: ${body.length}\r\n`

    const sent = connection.sendLong(head, { body, writeTimeoutMs: 60_000 })
    await sent
    await until(async () => client.received.length > body.length)
    onPlain = answer
    await client.write(get('/2'))

    expect(client.received.slice(0, 100)).to.match(
      /^HTTP\/1\.1 200 OK\r\nContent-Length: 1048576\r\n/,
    )
    await until(async () => client.received.endsWith('plain /2'))
  })

  it('end when the client takes nothing of a long body', async () => {
    const serving = nextServed()
    await client.write(get('/1'))
    const { connection } = await serving
    client.socket.pause()
    const body = Buffer.alloc(64 * 1024 * 1024)

    const sent = connection.sendLong('HTTP/1.1 200 OK\r\n', { body, writeTimeoutMs: 60_000 })
    must(sockets[0], 'socket').emit('timeout')
    await sent

    expect(connection.isGone).to.equal(true)
  })

  it('end with the server when they wait, and after their answer when they are served', async () => {
    using second = await RawClient.open(server.url)
    const serving = nextServed()
    await second.write(get('/1'))
    const served = await serving
    const ended = once(client.socket, 'close')

    const closing = server.close()
    await ended
    answer(served)

    expect(await second.until(/plain \/1/)).to.include('200 OK')
    await closing
  })
})
