import { once } from 'node:events'
import { createServer } from 'node:http'
import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { listen } from '../../../../lib/http/listener.ts'
import { RequestIds } from '../../../../lib/http/request-id.ts'
import { Descriptors } from '../../../../lib/process/descriptors.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { RawClient } from '../../../support/servers/raw-client.ts'

describe('the connections of clients', () => {
  it('may be half of the files that a process may open', () => {
    expect(new Descriptors(() => ({ limit: 1024, open: 30 })).connectionsMax).to.equal(512)
    expect(new Descriptors(() => undefined).connectionsMax).to.equal(undefined)
  })

  it('are closed beyond their bound, and served within it', async () => {
    const server = await listen(
      createServer((_request, response) => response.end('served')),
      {
        host: '127.0.0.1',
        port: 0,
        clock: systemClock,
        closeDeadlineMs: 1000,
        ids: new RequestIds(seededRandom(1)),
        connectionsMax: 2,
      },
    )
    using first = await RawClient.open(server.url)
    using second = await RawClient.open(server.url)

    using third = await RawClient.open(server.url)
    if (!third.socket.closed) await once(third.socket, 'close')
    await second.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n')

    expect(third.received).to.equal('')
    expect(await second.until(/served/)).to.include('200 OK')
    await first.close()
    await second.close()
    await server.close()
  })
})
