// Fetches a snapshot of a replica from another node.
//
//   open ─► pages ─► end ─► verified ─► complete
//    ▲        │ ▲
//    │        └─┘ lost connection, damaged page: again from the last whole page
//    └── the snapshot is no longer open: another one, from its beginning

import { Backoff } from '../../../lib/backoff.ts'
import type { Clock } from '../../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { Random } from '../../../lib/random.ts'
import { TransportError, type PeerLink } from '../../peer/peer.ts'
import type { Arrival, Arrivals } from './arrivals.ts'
import type { ReceiveLimits } from './snapshot-limits.ts'
import {
  decodeHash,
  decodeHeader,
  encodeId,
  encodeHashRequest,
  encodeOpen,
  encodePages,
  SNAPSHOT_OPERATIONS,
  type HashedContent,
  type HashRequest,
  type OpenRequest,
  type SnapshotHeader,
} from './snapshot-messages.ts'
import { DamagedPageError } from './snapshot-page.ts'
import type { SnapshotTarget } from './snapshot-target.ts'

const CLOSE_MS_MAX = 1000

/** Where the snapshot comes from, and where it goes. */
export interface ReceiveOptions {
  readonly link: Pick<PeerLink, 'call' | 'stream' | 'peer'>
  readonly wanted: OpenRequest
  readonly arrivals: Arrivals
  readonly clock: Clock
  readonly random: Random
  readonly log: Log
  readonly limits: ReceiveLimits
  /** Hears of the bytes that have arrived, page by page. */
  readonly onBytes?: (bytes: number) => void
}

/**
 * Receives a whole snapshot. The arrival is durable; `Arrivals.swap` makes it count. Rejects with the
 * signal's reason, with DISK_FULL, with CORRUPTION if what arrived is not what was sent, or with the
 * other node's refusal. Then nothing of it is left.
 */
export async function receiveSnapshot(
  options: ReceiveOptions,
  signal: AbortSignal,
): Promise<Arrival> {
  const { limits } = options
  for (let beginnings = 1; ; beginnings++) {
    try {
      return await receiveOne(options, signal)
    } catch (error) {
      const isGone = error instanceof SnapshotGoneError
      if (!isGone || beginnings >= limits.beginningsMax) throw error
    }
  }
}

/** Asks a node for the content hash of its replica (see `ContentHashes.hashAt`). */
export async function askContentHash(
  link: Pick<PeerLink, 'call'>,
  asked: HashRequest,
  options: { readonly timeoutMs: number; readonly signal?: AbortSignal },
): Promise<HashedContent> {
  const call = { operation: SNAPSHOT_OPERATIONS.contentHash, body: encodeHashRequest(asked) }
  return decodeHash(await link.call(call, { lane: 'bulk', ...options }))
}

/** The other node has closed the snapshot before its end. */
class SnapshotGoneError extends ServiceError {
  constructor(cause: unknown) {
    super('UNAVAILABLE', 'the snapshot was closed before it was read; try again later', { cause })
  }
}

async function receiveOne(options: ReceiveOptions, signal: AbortSignal): Promise<Arrival> {
  const { arrivals, wanted } = options
  const header = await openRemote(options, signal)
  let target: SnapshotTarget | undefined
  try {
    target = await arrivals.begin(wanted.logId, header)
    await new PageReader(options, target).readAll(signal)
    await target.finish()
    return await arrivals.complete(wanted.logId, header.position)
  } catch (error) {
    await target?.close()
    await arrivals.discard(wanted.logId)
    throw error
  } finally {
    await closeRemote(options, header)
  }
}

async function openRemote(
  { link, wanted, limits, ...options }: ReceiveOptions,
  signal: AbortSignal,
): Promise<SnapshotHeader> {
  const retries = new Retries({ ...options, limits })
  const call = { operation: SNAPSHOT_OPERATIONS.open, body: encodeOpen(wanted) }
  for (;;) {
    try {
      const called = { lane: 'bulk', timeoutMs: limits.callMs, signal } as const
      return decodeHeader(await link.call(call, called))
    } catch (error) {
      await retries.waitAfter(error, signal)
    }
  }
}

/** The source closes a snapshot after a while in any case, so this does not wait long. */
async function closeRemote(
  { link, limits, log }: ReceiveOptions,
  { id }: SnapshotHeader,
): Promise<void> {
  try {
    const call = { operation: SNAPSHOT_OPERATIONS.close, body: encodeId(id) }
    await link.call(call, { lane: 'bulk', timeoutMs: Math.min(limits.callMs, CLOSE_MS_MAX) })
  } catch (error) {
    log.debug('snapshot not closed', { nodeId: link.peer.nodeId, error: String(error) })
  }
}

/** Reads the pages of one snapshot, in as many streams as it takes. */
class PageReader {
  readonly #with: ReceiveOptions
  readonly #target: SnapshotTarget
  readonly #retries: Retries

  constructor(options: ReceiveOptions, target: SnapshotTarget) {
    this.#with = options
    this.#target = target
    this.#retries = new Retries(options)
  }

  async readAll(signal: AbortSignal): Promise<void> {
    while (!this.#target.hasEnded) {
      try {
        await this.#readStream(signal)
      } catch (error) {
        if (this.#target.failure !== undefined) throw this.#target.failure
        if (isServiceError(error) && error.code === 'NOT_FOUND') throw new SnapshotGoneError(error)
        await this.#retries.waitAfter(error, signal)
      }
    }
  }

  async #readStream(signal: AbortSignal): Promise<void> {
    const { link, onBytes } = this.#with
    const after = this.#target.mark
    const body = encodePages({ id: this.#target.header.id, after })
    const call = { operation: SNAPSHOT_OPERATIONS.pages, body }
    using watch = new StallWatch(this.#with)
    const either = AbortSignal.any([signal, watch.signal])
    for await (const page of link.stream(call, { lane: 'bulk', signal: either })) {
      await this.#target.take(page)
      watch.progressed()
      this.#retries.reset()
      onBytes?.(page.length)
      if (this.#target.hasEnded) return
    }
    if (!this.#target.hasEnded) throw new DamagedPageError('the pages of a snapshot end too early')
  }
}

/** Decides which failures are tried again, and when. */
class Retries {
  readonly #with: Pick<ReceiveOptions, 'clock' | 'random' | 'limits'>
  #backoff: Backoff

  constructor(options: Pick<ReceiveOptions, 'clock' | 'random' | 'limits'>) {
    this.#with = options
    this.#backoff = this.#newBackoff()
  }

  reset(): void {
    this.#backoff = this.#newBackoff()
  }

  /** Throws the error if it is final, or the last one of a row. */
  async waitAfter(error: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!isPassing(error)) throw error
    if (!(await this.#backoff.wait({ signal }))) throw error
  }

  #newBackoff(): Backoff {
    const { retriesMax, retryBaseMs: baseMs, retryCapMs: capMs } = this.#with.limits
    return new Backoff({ baseMs, capMs, retriesMax }, this.#with.clock, this.#with.random)
  }
}

function isPassing(error: unknown): boolean {
  if (error instanceof TransportError || error instanceof DamagedPageError) return true
  if (error instanceof StalledError) return true
  return isServiceError(error) && (error.code === 'UNAVAILABLE' || error.code === 'OVERLOADED')
}

class StalledError extends ServiceError {
  constructor() {
    super('UNAVAILABLE', 'a snapshot brought nothing for too long')
  }
}

/** Aborts its signal when nothing has come for `stallMs`. */
class StallWatch {
  readonly #stop = new AbortController()
  readonly #stalled = new AbortController()
  readonly #clock: Clock
  #heardAtMs: number

  constructor({ clock, limits }: Pick<ReceiveOptions, 'clock' | 'limits'>) {
    this.#clock = clock
    this.#heardAtMs = clock.monotonicMs()
    void this.#watch(limits.stallMs)
  }

  get signal(): AbortSignal {
    return this.#stalled.signal
  }

  progressed(): void {
    this.#heardAtMs = this.#clock.monotonicMs()
  }

  [Symbol.dispose](): void {
    this.#stop.abort()
  }

  async #watch(stallMs: number): Promise<void> {
    for (;;) {
      const leftMs = this.#heardAtMs + stallMs - this.#clock.monotonicMs()
      if (leftMs <= 0) return this.#stalled.abort(new StalledError())
      try {
        await this.#clock.sleep(leftMs, this.#stop.signal)
      } catch {
        return
      }
    }
  }
}
