import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { seededRandom } from '../../../../../lib/random.ts'
import { KindCache } from '../../../../../operator/runtime/cache/kind-cache.ts'
import { LeaderElection } from '../../../../../operator/runtime/election/leader-election.ts'
import { leaseRecordOf } from '../../../../../operator/runtime/election/lease-record.ts'
import { EventRecorder } from '../../../../../operator/runtime/events/event-recorder.ts'
import {
  HANG_MS_MAX,
  OperatorHealth,
} from '../../../../../operator/runtime/health/operator-health.ts'
import { END_GRACE_MS, endInOrder } from '../../../../../operator/runtime/health/orderly-end.ts'
import { runtimeLines } from '../../../../../operator/runtime/health/runtime-metrics.ts'
import { KeyedQueue } from '../../../../../operator/runtime/queue/keyed-queue.ts'
import { QueueWorkers } from '../../../../../operator/runtime/queue/queue-workers.ts'
import type { Outcome } from '../../../../../operator/runtime/queue/queue-workers.ts'
import { FakeKubernetes } from '../../../../support/kubernetes/fake-kubernetes.ts'
import { ALL_KINDS, CONFIG_MAPS, LEASES } from '../../../../support/kubernetes/known-kinds.ts'
import { pass, settle } from '../../../../support/operator/settle.ts'

const LEASE = { kind: LEASES, namespace: 'test', name: 'operator' }
const { signal } = new AbortController()

describe('OperatorHealth', () => {
  it('fails while a pass hangs, and not because it waits', async () => {
    const { clock, queue, health, workers } = open()
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
    const { clock, health } = open()
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
    const { health, caches } = open()
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
    const world = open()
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
    const world = open()
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

function open() {
  const clock = new ManualClock()
  const api = new FakeKubernetes(clock, ALL_KINDS)
  const random = seededRandom(1)
  const log = silentLog
  const queue = new KeyedQueue({ clock, random })
  const hang = async (_key: string, stop: AbortSignal): Promise<Outcome> => {
    await clock.sleep(3_600_000, stop)
    return { kind: 'done' }
  }
  const workers = new QueueWorkers({ queue, workersMax: 2, reconcile: hang, clock, log })
  const caches = [
    new KindCache({
      api,
      clock,
      random,
      log,
      kind: CONFIG_MAPS,
      namespaces: [],
      labelSelector: '',
      absentRecheckMs: 60_000,
      onChange: () => undefined,
    }),
  ]
  const election = new LeaderElection({ api, clock, random, log, lease: LEASE, identity: 'one' })
  const events = new EventRecorder({
    api,
    clock,
    log,
    controller: 'quarry.dev/operator',
    instance: 'operator-0',
    secrets: () => [],
  })
  const health = new OperatorHealth({ clock, queue, caches })
  return { clock, api, queue, workers, caches, election, events, health }
}
