// The end of the operator, in order.

import type { Clock } from '../../../lib/clock.ts'
import { answerWithin } from '../../../lib/deadline.ts'
import type { KindCache } from '../cache/kind-cache.ts'
import type { EventRecorder } from '../events/event-recorder.ts'
import type { LeaderElection } from '../election/leader-election.ts'
import type { KeyedQueue } from '../queue/keyed-queue.ts'
import type { QueueWorkers } from '../queue/queue-workers.ts'

/** Passes have 20 s to end. Kubernetes gives a pod 30 s. */
export const END_GRACE_MS = 20_000

/** Events are for people, who do not miss the last ones of an API that is away. */
const EVENTS_GRACE_MS = 2000

/** What runs. */
export interface RunningRuntime {
  readonly clock: Clock
  readonly queue: KeyedQueue
  readonly workers: QueueWorkers
  readonly caches: readonly KindCache[]
  readonly election: Pick<LeaderElection, 'release'>
  readonly events: EventRecorder
}

/**
 * Takes no more keys, waits for the passes, stops the caches, and only then gives the lease away: the next leader begins
 * when nothing of this process writes any more. Never rejects. After a lost leadership it ends the same, and sooner, since
 * no write passes.
 */
export async function endInOrder(running: RunningRuntime): Promise<void> {
  await running.workers.stop(END_GRACE_MS)
  running.queue.close()
  await Promise.all(running.caches.map((cache) => cache.stop()))
  await answerWithin(running.events.flushed(), { clock: running.clock, ms: EVENTS_GRACE_MS })
  running.events.close()
  await running.election.release()
}
