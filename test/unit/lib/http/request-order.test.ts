import { once } from 'node:events'
import { createServer } from 'node:http'
import type { ServerResponse } from 'node:http'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { RequestIds } from '../../../../lib/http/request-id.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { listen } from '../../../../lib/http/listener.ts'
import type { RunningServer } from '../../../../lib/http/listener.ts'
import { inOrder, PIPELINED_REQUESTS_MAX } from '../../../../lib/http/request-order.ts'

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: a\r\n\r\n`

describe('requests of one connection', () => {
  let served: string[]
  let answers: ServerResponse[]
  let server: RunningServer
  let socket: Socket
  let onServed: () => void

  beforeEach(async () => {
    served = []
    answers = []
    onServed = () => undefined
    const serve = inOrder((request, response) => {
      served.push(request.url ?? '')
      answers.push(response)
      onServed()
    })
    const options = {
      host: '127.0.0.1',
      port: 0,
      clock: systemClock,
      closeDeadlineMs: 10,
      ids: new RequestIds(seededRandom(1)),
    }
    server = await listen(createServer(serve), options)
    const { hostname, port } = new URL(server.url)
    socket = connect(Number(port), hostname)
    await once(socket, 'connect')
  })

  afterEach(async () => {
    socket.destroy()
    await server.close()
  })

  function servedCount(count: number): Promise<void> {
    return new Promise((resolve) => {
      onServed = () => {
        if (served.length >= count) resolve()
      }
      onServed()
    })
  }

  it('do not begin before earlier ones are answered', async () => {
    socket.write(get('/1') + get('/2') + get('/3'))
    await servedCount(1)
    const before = [...served]

    answers[0]?.end('1')
    await servedCount(2)
    const between = [...served]
    answers[1]?.end('2')
    await servedCount(3)

    expect([before, between, served]).to.deep.equal([['/1'], ['/1', '/2'], ['/1', '/2', '/3']])
  })

  it('do not begin when the client disconnects', async () => {
    socket.write(get('/1') + get('/2'))
    await servedCount(1)
    const gone = once(answers[0] ?? socket, 'close')

    socket.destroy()
    await gone
    answers[0]?.end('1')

    expect(served).to.deep.equal(['/1'])
  })

  it('are limited in number, beyond which the connection is cut', async () => {
    const waiting = Array.from({ length: PIPELINED_REQUESTS_MAX + 1 }, (_, i) => get(`/${i}`))
    socket.on('error', () => undefined)

    socket.write(waiting.join('') + get('/last'))
    await once(socket, 'close')

    expect(served).to.deep.equal(['/0'])
  })
})
