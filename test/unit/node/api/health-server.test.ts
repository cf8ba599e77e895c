import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { startHealthServer } from '../../../../lib/http/health-server.ts'
import { textReply } from '../../../../lib/http/reply.ts'
import { seededRandom } from '../../../../lib/random.ts'
import { ApiMetrics } from '../../../../node/api/metrics.ts'
import { readinessReply } from '../../../../node/api/readiness-reply.ts'
import type { IndexCounts } from '../../../../node/steering/index-summary.ts'
import { RawClient } from '../../../support/servers/raw-client.ts'
import { send } from '../../../contract/api-harness.ts'

const DURATION = 'quarry_http_request_duration_seconds'
const QUIET: IndexCounts = {
  building: 0,
  failed: 0,
  catchingUp: 0,
  refusing: 0,
  entriesBehindMax: 0,
  documentsBehind: 0,
}

function start(isReady: boolean, metrics = new ApiMetrics(), counts = QUIET) {
  const readiness = () => readinessReply(isReady, counts)
  const random = seededRandom(1)
  return startHealthServer({
    host: '127.0.0.1',
    port: 0,
    clock: systemClock,
    random,
    readiness,
    metrics,
    product: { version: '1.2.3', gitCommit: 'abc' },
  })
}

const readiness = () => readinessReply(true, QUIET)
const liveness = () => textReply(503, 'a pass hangs')

describe('startHealthServer', () => {
  it('takes no foreign name for this machine, and no second one', async () => {
    const server = await start(true)
    const { host } = new URL(server.url)
    const statusOf = async (target: string, ...hosts: readonly string[]): Promise<string> => {
      using client = await RawClient.open(server.url)
      const headers = hosts.map((each) => `Host: ${each}\r\n`).join('')
      await client.write(`GET ${target} HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`)
      return (await client.until(/\r\n\r\n/)).slice(9, 12)
    }

    expect(await statusOf('/metrics', host)).to.equal('200')
    expect(await statusOf('/metrics', 'localhost')).to.equal('200')
    expect(await statusOf(`http://${host}/metrics`, host)).to.equal('404') // it knows paths alone
    expect(await statusOf('/metrics', 'rebound.example')).to.equal('403')
    expect(await statusOf('/metrics', host, 'rebound.example')).to.equal('400')
    expect(await statusOf('http://rebound.example/metrics', host)).to.equal('400')
    await server.close()
  })

  it('answers what its liveness says, and ok without one', async () => {
    const random = seededRandom(1)
    const metrics = new ApiMetrics()
    const product = { version: '1.2.3', gitCommit: 'abc' }
    const options = {
      host: '127.0.0.1',
      port: 0,
      clock: systemClock,
      random,
      readiness,
      metrics,
      product,
    }
    const usual = await startHealthServer(options)
    const hung = await startHealthServer({ ...options, liveness })

    const request = { method: 'GET', path: '/healthz' } as const
    const answers = [await send(usual.url, request), await send(hung.url, request)]
    await usual.close()
    await hung.close()

    expect(answers.map(({ status }) => status)).to.deep.equal([200, 503])
  })

  it('says which version runs, and what it was made of', async () => {
    const server = await start(false)

    const { status, body } = await send(server.url, { method: 'GET', path: '/version' })
    await server.close()

    expect(status).to.equal(200)
    expect(JSON.parse(body)).to.deep.equal({
      version: '1.2.3',
      git_commit: 'abc',
      runtime_version: process.version,
    })
  })

  it('is alive before it is ready', async () => {
    const server = await start(false)

    const alive = await send(server.url, { method: 'GET', path: '/healthz' })
    const ready = await send(server.url, { method: 'GET', path: '/readyz' })
    await server.close()

    expect([alive.status, alive.body]).to.deep.equal([200, 'ok'])
    expect(ready.status).to.equal(503)
    expect(JSON.parse(ready.body)).to.include({ status: 'not_ready', searches: 'not_ready' })
  })

  it('is ready when the store is ready', async () => {
    const server = await start(true)

    const { status, body } = await send(server.url, { method: 'GET', path: '/readyz' })
    await server.close()

    expect(status).to.equal(200)
    expect(JSON.parse(body)).to.include({ status: 'ready', searches: 'ready' })
  })

  it('is ready while an index is built, and reports that searches are refused', async () => {
    const counts = { ...QUIET, building: 4, refusing: 3, documentsBehind: 7 }
    const server = await start(true, new ApiMetrics(), counts)

    const { status, body } = await send(server.url, { method: 'GET', path: '/readyz' })
    await server.close()

    expect(status).to.equal(200)
    expect(JSON.parse(body)).to.deep.equal({
      status: 'ready',
      searches: 'partly refused',
      text_indexes: { building: 4, failed: 0, catching_up: 0, refusing: 3 },
      documents_behind: 7,
    })
  })

  it('publishes counts, durations and gauges', async () => {
    const metrics = new ApiMetrics()
    metrics.addGauge('quarry_open_tables', 'Tables that are open.', () => 3)
    metrics.requests.of('getStatus').record(200, 2)
    metrics.requests.of('getStatus').record(503, 60_000)
    const server = await start(true, metrics)

    const { body, headers } = await send(server.url, { method: 'GET', path: '/metrics' })
    await server.close()

    expect(headers['content-type']).to.match(/^text\/plain; version=/)
    expect(body.split('\n')).to.include.members([
      'quarry_open_tables 3',
      'quarry_http_requests_total{operation="getStatus",status="200"} 1',
      'quarry_http_requests_total{operation="getStatus",status="503"} 1',
      `${DURATION}_bucket{operation="getStatus",status_class="2xx",le="0.001"} 0`,
      `${DURATION}_bucket{operation="getStatus",status_class="2xx",le="0.0025"} 1`,
      `${DURATION}_sum{operation="getStatus",status_class="2xx"} 0.002`,
      `${DURATION}_bucket{operation="getStatus",status_class="5xx",le="30"} 0`,
      `${DURATION}_bucket{operation="getStatus",status_class="5xx",le="+Inf"} 1`,
      `${DURATION}_count{operation="getStatus",status_class="5xx"} 1`,
    ])
  })

  it('refuses other routes and methods', async () => {
    const server = await start(true)

    const route = await send(server.url, { method: 'GET', path: '/api/v1/tables' })
    const method = await send(server.url, { method: 'POST', path: '/healthz' })
    await server.close()

    expect(route.status).to.equal(404)
    expect([method.status, method.headers.allow]).to.deep.equal([405, 'GET, HEAD'])
  })
})
