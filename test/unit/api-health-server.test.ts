import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { startHealthServer } from '../../lib/http/health-server.ts'
import { ApiMetrics } from '../../node/api/metrics.ts'
import { readinessReply } from '../../node/api/readiness-reply.ts'
import { send } from '../contract/api-harness.ts'

function start(isReady: boolean, metrics = new ApiMetrics(['getStatus'])) {
  const readiness = () => readinessReply(isReady)
  return startHealthServer({ host: '127.0.0.1', port: 0, clock: systemClock, readiness, metrics })
}

describe('startHealthServer', () => {
  it('is alive before it is ready', async () => {
    const server = await start(false)

    const alive = await send(server.url, { method: 'GET', path: '/healthz' })
    const ready = await send(server.url, { method: 'GET', path: '/readyz' })
    await server.close()

    expect([alive.status, alive.body]).to.deep.equal([200, 'ok'])
    expect(ready.status).to.equal(503)
  })

  it('is ready when the store is', async () => {
    const server = await start(true)

    const { status } = await send(server.url, { method: 'GET', path: '/readyz' })
    await server.close()

    expect(status).to.equal(200)
  })

  it('publishes counts, durations and gauges', async () => {
    const metrics = new ApiMetrics(['getStatus'])
    metrics.registerGauge('open_tables', 'Tables that are open.', () => 3)
    metrics.of('getStatus').record(200, 2)
    metrics.of('getStatus').record(503, 60_000)
    const server = await start(true, metrics)

    const { body, headers } = await send(server.url, { method: 'GET', path: '/metrics' })
    await server.close()

    expect(headers['content-type']).to.match(/^text\/plain; version=/)
    expect(body.split('\n')).to.include.members([
      'quarry_open_tables 3',
      'quarry_http_requests_total{operation="getStatus",status="200"} 1',
      'quarry_http_requests_total{operation="getStatus",status="503"} 1',
      'quarry_http_request_duration_seconds_bucket{operation="getStatus",le="0.0025"} 1',
      'quarry_http_request_duration_seconds_bucket{operation="getStatus",le="30"} 1',
      'quarry_http_request_duration_seconds_bucket{operation="getStatus",le="+Inf"} 2',
      'quarry_http_request_duration_seconds_sum{operation="getStatus"} 60.002',
      'quarry_http_request_duration_seconds_count{operation="getStatus"} 2',
    ])
    expect(body).to.include('quarry_process_cpu_seconds_total')
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
