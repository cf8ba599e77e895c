import { expect } from 'chai'
import { leaseRecordOf } from '../../../../../operator/runtime/election/lease-record.ts'
import { HANG_MS_MAX } from '../../../../../operator/runtime/health/operator-health.ts'
import { END_GRACE_MS, endInOrder } from '../../../../../operator/runtime/health/orderly-end.ts'
import { runtimeLines } from '../../../../../operator/runtime/health/runtime-metrics.ts'
import { LEASE, measuredRuntime } from '../../../../support/operator/measured-runtime.ts'
import { pass, settle } from '../../../../support/operator/settle.ts'

const { signal } = new AbortController()

describe('OperatorHealth', () => {
  it('fails while a pass hangs, and not because it waits', async () => {
    const { clock, queue, health, workers } = measuredRuntime()
    health.start()
    workers.start()
    queue.add('a')

    await pass(clock, HANG_MS_MAX)
    const before = health.liveness().status
    await pass(clock, 2000)

    expect([before, health.liveness().status]).to.deep.equal([200, 503])
    await health.stop()
  })

  it('fails when the timers of the loop stood still', async () => {
    const { clock, health } = measuredRuntime()
    health.start()
    await pass(clock, 10_000)
    const before = health.liveness().status

    clock.advance(HANG_MS_MAX + 1)

    expect([before, health.liveness().status]).to.deep.equal([200, 503])
    await pass(clock, 10_000)
    expect(health.liveness().status).to.equal(200)
    await health.stop()
  })

  it('is ready with the caches, also when it does not lead', async () => {
    const { health, caches } = measuredRuntime()
    const before = health.readiness()
    caches[0]?.start()
    await settle()

    expect([before.status, health.readiness().status]).to.deep.equal([503, 200])
    expect(before.body.toString()).to.equal('{"ready":false,"missing":["configmaps"]}')
    await caches[0]?.stop()
  })
})

describe('endInOrder', () => {
  it('aborts passes after the grace, and releases the lease last', async () => {
    const world = measuredRuntime()
    const { api, clock, queue, workers, election, caches } = world
    election.start()
    caches[0]?.start()
    workers.start()
    queue.add('a')
    await settle()
    const ended = endInOrder(world)

    await pass(clock, END_GRACE_MS - 1000)
    const holder = leaseRecordOf((await api.get(LEASE, signal))!).holder
    const isLeading = election.isLeading()
    await pass(clock, 5000)
    await ended

    expect([holder, isLeading]).to.deep.equal(['one', true])
    expect(leaseRecordOf((await api.get(LEASE, signal))!).holder).to.equal('')
    expect(Object.fromEntries(workers.results)).to.deep.equal({ stopped: 1 })
    expect(api.watchCount).to.equal(0)
  })
})

describe('runtimeLines', () => {
  it('has every family once, and no name of an object', async () => {
    const world = measuredRuntime()
    world.queue.add('test/secret-name')
    const lines = runtimeLines({ ...world, answers: new Map([['GET 200', 3]]) })

    const names = lines
      .filter((line) => line.startsWith('# TYPE'))
      .map((line) => line.split(' ')[2])
    expect(new Set(names).size).to.equal(names.length)
    expect(lines).to.include.members([
      'quarry_operator_queue_depth 1',
      'quarry_operator_cache_ready{kind="configmaps"} 0',
      'quarry_operator_leader 0',
      'quarry_operator_api_requests_total{method="GET",status="200"} 3',
    ])
    expect(lines.join('\n')).to.not.include('secret-name')
  })
})
