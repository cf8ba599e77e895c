import { createServer } from 'node:http'
import type { RequestListener, Server } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { expect } from 'chai'
import { assert } from '../../lib/assert.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../support/servers/tls-certificate.ts'
import { runCommand } from './cli-session.ts'
import type { CliRun } from './cli-session.ts'

const TLS = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }

const ask = (url: string): Promise<CliRun> => runCommand(['status'], { url })

describe('a service that the command line cannot reach', () => {
  const servers: Server[] = []

  afterEach(async () => {
    for (const server of servers.splice(0)) {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    }
  })

  async function portOf(server: Server): Promise<number> {
    servers.push(server)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    const address = server.address()
    assert(address !== null && typeof address === 'object', 'the server listens on a port')
    return address.port
  }

  const openHttp = (listener?: RequestListener): Promise<number> => portOf(createServer(listener))

  it('gives exit code 3, and the remedy where no server listens', async () => {
    const port = await openHttp()
    await new Promise((resolve) => servers.pop()?.close(resolve))

    expect(await ask(`http://127.0.0.1:${port}`)).to.deep.equal({
      exitCode: 3,
      stdout: '',
      stderr:
        `error: cannot reach http://127.0.0.1:${port}: no server listens there; ` +
        `start one with: quarry swarm --data-dir ./data --api-port ${port} (ECONNREFUSED)\n`,
    })
  })

  it('is explained where the host has no address', async () => {
    const run = await ask('http://no.such.host.invalid:8080')

    expect(run.exitCode).to.equal(3)
    expect(run.stderr).to.match(/no\.such\.host\.invalid.* \((?:ENOTFOUND|EAI_AGAIN)\)\n$/)
  })

  it('is explained where the certificate is not trusted', async () => {
    const port = await portOf(createTlsServer(TLS))

    const run = await ask(`https://127.0.0.1:${port}`)

    expect(run.exitCode).to.equal(3)
    expect(run.stderr).to.match(/certificate is not trusted; .*NODE_EXTRA_CA_CERTS \(\w+\)\n$/)
  })

  it('is explained where one side speaks TLS and the other does not', async () => {
    const plain = await openHttp()
    const secret = await portOf(createTlsServer(TLS))

    expect((await ask(`https://127.0.0.1:${plain}`)).stderr).to.contain('try an http:// address')
    expect((await ask(`http://127.0.0.1:${secret}`)).stderr).to.match(
      /\((?:HPE_\w+|ECONNRESET)\)\n$/,
    )
  })

  it('is explained where the connection breaks off', async () => {
    const port = await openHttp((request) => request.socket.destroy())

    const run = await ask(`http://127.0.0.1:${port}`)

    expect(run.exitCode).to.equal(3)
    expect(run.stderr).to.contain('the connection was closed').and.contain('(ECONNRESET)')
  })

  it('is explained where it redirects elsewhere, and the redirect is not followed', async () => {
    const port = await openHttp((_request, response) => {
      response.writeHead(308, { location: 'https://example.org/' }).end()
    })

    const run = await ask(`http://127.0.0.1:${port}`)

    expect(run).to.deep.equal({
      exitCode: 1,
      stdout: '',
      stderr:
        'error: the service answered 308 Permanent Redirect: ' +
        'use --url https://example.org/ instead\n',
    })
  })
})
