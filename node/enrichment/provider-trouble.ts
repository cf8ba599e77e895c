// Whether the models of an index can be asked at the moment, and when they are asked again.

import { InvariantError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError, messageOf } from '../../lib/errors.ts'
import type { Random } from '../../lib/random.ts'
import { isProviderError } from '../providers/contract/provider-error.ts'
import { enrichmentBackoffMs, longestBackoffMs } from './enrichment-backoff.ts'

/** Why a whole call failed. */
export type TroubleKind =
  /** The provider wants fewer calls. */
  | 'limited'
  /** It was not reached, it fails, or its answer makes no sense. */
  | 'silent'
  /** It answers, but the index cannot take what it answers: documents are not at fault. */
  | 'unfit'

/** The state of an index whose models cannot be asked. */
export interface Trouble {
  readonly kind: TroubleKind
  readonly message: string
  /** Wall-clock time of the first failure. */
  readonly sinceMs: number
  /** Resolves when one call may try. */
  readonly pause: Promise<void>
}

/** A provider that asks for more is asked sooner. */
const ASKED_MS_MAX = 600_000

/** Knows a failure of a whole call. Our own bugs are nobody's trouble: they are thrown on. */
export function troubleKindOf(error: unknown): TroubleKind {
  if (error instanceof InvariantError) throw error
  if (isProviderError(error)) {
    const { kind } = error.failure
    if (kind === 'rate_limited') return 'limited'
    return kind === 'refused' ? 'unfit' : 'silent'
  }
  return isServiceError(error) && error.code === 'INVALID_ARGUMENT' ? 'unfit' : 'silent'
}

/** The trouble of one index, from the first failed call to the next one that succeeds. */
export class ProviderTrouble {
  readonly #clock: Clock
  readonly #random: Random
  #current: Trouble | undefined
  #failures = 0

  constructor(clock: Clock, random: Random) {
    this.#clock = clock
    this.#random = random
  }

  get current(): Trouble | undefined {
    return this.#current
  }

  /**
   * Notes a failed call. Of several calls that were under way together, one prolongs the pause: a later one counts
   * when it was the attempt after a pause (`isAttempt`).
   */
  failed(error: unknown, isAttempt: boolean, signal: AbortSignal): Trouble {
    const kind = troubleKindOf(error)
    if (this.#current !== undefined && !isAttempt) return this.#current
    this.#failures += 1
    // Only other settings of the model help one that does not fit.
    const pauseMs =
      kind === 'unfit'
        ? longestBackoffMs(this.#random)
        : enrichmentBackoffMs(this.#failures, this.#random)
    this.#current = {
      kind,
      message: messageOf(error),
      sinceMs: this.#current?.sinceMs ?? this.#clock.nowMs(),
      pause: this.#clock.sleep(Math.max(pauseMs, askedMsOf(error)), signal),
    }
    this.#current.pause.catch(() => undefined) // closed meanwhile
    return this.#current
  }

  /** An attempt succeeded. Answers whether there was trouble. */
  ended(): boolean {
    const was = this.#current !== undefined
    this.#current = undefined
    this.#failures = 0
    return was
  }
}

function askedMsOf(error: unknown): number {
  if (!isProviderError(error) || error.failure.kind !== 'rate_limited') return 0
  return Math.min(ASKED_MS_MAX, error.failure.retryAfterMs ?? 0)
}
