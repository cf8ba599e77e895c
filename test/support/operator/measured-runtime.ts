// The parts of the operator's runtime over an API server in memory, for their health and metrics.

import { ManualClock } from '../../../lib/clock.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import { KindCache } from '../../../operator/runtime/cache/kind-cache.ts'
import { LeaderElection } from '../../../operator/runtime/election/leader-election.ts'
import { EventRecorder } from '../../../operator/runtime/events/event-recorder.ts'
import { OperatorHealth } from '../../../operator/runtime/health/operator-health.ts'
import { KeyedQueue } from '../../../operator/runtime/queue/keyed-queue.ts'
import { QueueWorkers } from '../../../operator/runtime/queue/queue-workers.ts'
import type { Outcome } from '../../../operator/runtime/queue/queue-workers.ts'
import { FakeKubernetes } from '../kubernetes/fake-kubernetes.ts'
import { ALL_KINDS, CONFIG_MAPS, LEASES } from '../kubernetes/known-kinds.ts'

export const LEASE = { kind: LEASES, namespace: 'test', name: 'operator' }

/** Nothing is started. Each pass hangs for an hour. */
export function measuredRuntime() {
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
      groupOf: () => undefined,
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
