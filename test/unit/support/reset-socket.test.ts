import { once } from 'node:events'
import net from 'node:net'
import { expect } from 'chai'
import { must } from '../../../lib/assert.ts'
import { resetSocket } from '../../support/servers/reset-socket.ts'
import { until } from '../../support/until.ts'

interface Connection {
  readonly client: net.Socket
  readonly peer: net.Socket
}

async function connect(server: net.Server): Promise<Connection> {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const accepted = once(server, 'connection')
  const client = net.connect({ host: '127.0.0.1', port, allowHalfOpen: true })
  const [peer]: net.Socket[] = await accepted
  if (client.connecting) await once(client, 'connect')
  return { client, peer: must(peer, 'a connection') }
}

describe('resetSocket', () => {
  let server: net.Server
  beforeEach(() => (server = net.createServer({ allowHalfOpen: true })))
  afterEach(() => server.close())

  it('resets a connection', async () => {
    const { client, peer } = await connect(server)
    const failed = once(peer, 'error')

    resetSocket(client)

    const [error] = await failed
    expect(error).to.have.property('code', 'ECONNRESET')
  })

  it('closes a connection that is just ending', async () => {
    const { client, peer } = await connect(server)
    peer.on('error', () => undefined) // its writes meet a socket that is gone
    client.end()

    resetSocket(client)

    await until(async () => {
      peer.write('anything')
      return peer.errored !== null
    })
  })
})
