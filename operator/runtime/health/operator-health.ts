// Whether the operator lives, and whether it knows enough to decide.

import type { Clock } from '../../../lib/clock.ts'
import { jsonReply, textReply } from '../../../lib/http/reply.ts'
import type { BytesReply } from '../../../lib/http/reply.ts'
import type { KindCache } from '../cache/kind-cache.ts'
import type { KeyedQueue } from '../queue/keyed-queue.ts'

/** A pass waits for nothing; one that lasts longer than this hangs. */
export const HANG_MS_MAX = 60_000
const BEAT_MS = 5000

/** What health is judged by. */
export interface HealthOptions {
  readonly clock: Clock
  readonly queue: KeyedQueue
  /** The caches without which nothing is decided. Optional kinds are left out. */
  readonly caches: readonly KindCache[]
}

/**
 * Contract:
 * - `liveness` answers 503 while a pass lasts longer than `HANG_MS_MAX`, or when the timers of the loop stood still for as
 *   long before the probe. A loop that hangs answers no probe at all.
 * - `readiness` answers 200 from the moment on when all caches are synced, for followers too, and 503 with the kinds that
 *   are missing otherwise.
 */
export class OperatorHealth {
  readonly #with: HealthOptions
  #beatMs: number
  #stop: (() => Promise<void>) | undefined

  constructor(options: HealthOptions) {
    this.#with = options
    this.#beatMs = options.clock.monotonicMs()
  }

  start(): void {
    const { clock } = this.#with
    this.#stop = clock.every(BEAT_MS, async () => {
      this.#beatMs = clock.monotonicMs()
    })
  }

  async stop(): Promise<void> {
    await this.#stop?.()
  }

  liveness(): BytesReply {
    const { clock, queue } = this.#with
    const { longestWorkMs } = queue.figures()
    if (longestWorkMs > HANG_MS_MAX) return textReply(503, 'a pass hangs')
    const silentMs = clock.monotonicMs() - this.#beatMs
    return silentMs > HANG_MS_MAX ? textReply(503, 'the event loop hung') : textReply(200, 'ok')
  }

  readiness(): BytesReply {
    const missing = this.#with.caches.filter((cache) => !cache.isReady())
    return missing.length === 0
      ? jsonReply(200, { ready: true })
      : jsonReply(503, { ready: false, missing: missing.map(({ kind }) => kind.plural) })
  }
}
