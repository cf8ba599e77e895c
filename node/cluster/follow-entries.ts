// What the coordination store holds under some prefixes, kept up to date: a listing, and the watches that
// continue it. When events are missing or the store fails, it is listed again.

import type { Clock } from '../../lib/clock.ts'
import { runSliced, StepMeter, type Sliced } from '../../lib/sliced.ts'
import type {
  Coordination,
  CoordinationEntry,
  CoordinationEvent,
  CoordinationListing,
} from '../coordination/coordination.ts'

/** A pause after a failure, so that a store that refuses is not asked all the time. */
const RETRY_MS = 500
/** A pause before the next listing, so that one after the other leaves time for other work. */
const RELIST_MS = 50
/** To decode an entry and take it in costs about 10 us. */
const ENTRIES_PER_STEP = 64

/** A key that was written, or has gone: its entry is undefined then. */
export interface EntryChange {
  readonly key: string
  readonly entry: CoordinationEntry | undefined
  /** The revision of the commit that wrote the key, or one at which it was already gone. */
  readonly revision: number
}

/** Hears of the entries. Its methods must not throw. */
export interface EntrySink {
  /** Changes of one key come in the order of their revisions. The same one may come twice. */
  changed(change: EntryChange): void
  /** Everything that there was at this revision has been told by `changed`. */
  listed(revision: number): void
  /** The store could not be asked. It is asked again after a pause. */
  failed(error: unknown): void
}

/** What is followed, and by whom. */
export interface Following {
  readonly coordination: Coordination
  readonly prefixes: readonly string[]
  readonly clock: Clock
  readonly sink: EntrySink
}

/** Follows the entries until `signal` aborts. Never rejects. */
export async function followEntries(following: Following, signal: AbortSignal): Promise<void> {
  const { sink, clock } = following
  const follower = new EntryFollower(following)
  while (!signal.aborted) {
    let pauseMs = RELIST_MS
    try {
      await follower.follow(signal)
    } catch (error) {
      if (signal.aborted) return
      sink.failed(error)
      pauseMs = RETRY_MS
    }
    await clock.sleep(pauseMs, signal).catch(() => undefined) // aborted
  }
}

class EntryFollower {
  readonly #following: Following
  /** The keys that were told and not told to be gone. */
  readonly #known = new Set<string>()

  constructor(following: Following) {
    this.#following = following
  }

  /** Until a watch ends, because events are missing or `signal` aborted. */
  async follow(signal: AbortSignal): Promise<void> {
    const revisions = await this.#list(signal)
    if (signal.aborted) return
    const over = new AbortController()
    const either = AbortSignal.any([signal, over.signal])
    const watches = this.#following.prefixes.map((prefix, at) => {
      const from = (revisions[at] ?? 0) + 1
      return this.#watch(this.#following.coordination.watch(prefix, from, either))
    })
    try {
      await Promise.race(watches)
    } finally {
      over.abort()
      await Promise.allSettled(watches)
    }
  }

  /** One prefix after the other: so the revision of the last one is the greatest. */
  async #list(signal: AbortSignal): Promise<readonly number[]> {
    const { coordination, prefixes, clock, sink } = this.#following
    const revisions: number[] = []
    for (const prefix of prefixes) {
      const listing = await coordination.list(prefix)
      revisions.push(listing.revision)
      await runSliced(this.#tellListing(prefix, listing), { clock, signal })
    }
    sink.listed(revisions.at(-1) ?? 0)
    return revisions
  }

  /** In steps, because a large cluster has ten thousands of entries. */
  *#tellListing(prefix: string, { entries, revision }: CoordinationListing): Sliced<void> {
    const meter = new StepMeter(ENTRIES_PER_STEP)
    const gone = new Set([...this.#known].filter((key) => key.startsWith(prefix)))
    for (const entry of entries) {
      gone.delete(entry.key)
      this.#tell({ key: entry.key, entry, revision: entry.modRevision })
      if (meter.spend(1)) yield
    }
    for (const key of gone) {
      this.#tell({ key, entry: undefined, revision })
      if (meter.spend(1)) yield
    }
  }

  async #watch(events: AsyncIterable<CoordinationEvent>): Promise<void> {
    for await (const event of events) {
      if (event.kind === 'compacted') return
      if (event.kind === 'put') {
        const { entry } = event
        this.#tell({ key: entry.key, entry, revision: entry.modRevision })
      } else {
        this.#tell({ key: event.key, entry: undefined, revision: event.revision })
      }
    }
  }

  #tell(change: EntryChange): void {
    if (change.entry === undefined) this.#known.delete(change.key)
    else this.#known.add(change.key)
    this.#following.sink.changed(change)
  }
}
