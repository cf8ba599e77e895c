// Answers a key from the cache, from a run that is under way, or from a new run.
//
// Invariants:
//   SR1  At any moment at most one run is under way for a key.
//   SR2  A run is cancelled when its last waiting caller leaves, and only then.
//   SR3  The cache keeps the answers of runs. It never keeps a failure.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { unlessAborted } from '../../lib/unless-aborted.ts'
import type { ResultCache } from './result-cache.ts'

/** A run that has begun. After `cancel`, its promise may stay pending. */
export interface StartedRun<Value> {
  readonly promise: Promise<Value>
  cancel(this: void): void
}

/**
 * `cache`: an earlier run answered; `shared`: another caller had started the run; `run`: this
 * caller did.
 */
export type ResultSource = 'cache' | 'shared' | 'run'

/** The answer for one key, and the source that it came from. */
export interface SharedResult<Value> {
  readonly value: Value
  readonly source: ResultSource
}

interface Flight<Value> {
  readonly run: StartedRun<Value>
  waiters: number
}

/**
 * Shares runs between callers that ask for equal keys at the same time, and caches their answers.
 * `onSource` is called once for each key that a caller asks for.
 */
export class SharedResults<Value> {
  readonly #cache: ResultCache<Value>
  readonly #onSource: (source: ResultSource) => void
  readonly #flights = new Map<string, Flight<Value>>()

  constructor(cache: ResultCache<Value>, onSource: (source: ResultSource) => void) {
    this.#cache = cache
    this.#onSource = onSource
  }

  /**
   * One result for each key, in the order of the keys; equal keys share one run. `start` begins the
   * run of the key at an index. Rejects with the first failure or with the signal's reason. After a
   * rejection this call waits for no run any longer.
   */
  async getMany(
    keys: readonly string[],
    start: (index: number) => StartedRun<Value>,
    signal: AbortSignal,
  ): Promise<SharedResult<Value>[]> {
    signal.throwIfAborted()
    const joined = new Map<string, Flight<Value>>()
    try {
      const waits = keys.map((key, index) => this.#find(key, () => start(index), joined))
      return await unlessAborted(Promise.all(waits), signal)
    } finally {
      for (const [key, flight] of joined) this.#leave(key, flight)
    }
  }

  async #find(
    key: string,
    start: () => StartedRun<Value>,
    joined: Map<string, Flight<Value>>,
  ): Promise<SharedResult<Value>> {
    const known = joined.get(key) === undefined ? this.#cache.get(key) : undefined
    if (known !== undefined) {
      this.#onSource('cache')
      return { value: known, source: 'cache' }
    }
    const source = this.#flights.has(key) ? 'shared' : 'run'
    this.#onSource(source)
    const flight = this.#flights.get(key) ?? this.#launch(key, start())
    if (!joined.has(key)) {
      flight.waiters += 1
      joined.set(key, flight)
    }
    return { value: await flight.run.promise, source }
  }

  #launch(key: string, run: StartedRun<Value>): Flight<Value> {
    const flight = { run, waiters: 0 }
    this.#flights.set(key, flight)
    const land = (): void => {
      if (this.#flights.get(key) === flight) this.#flights.delete(key)
    }
    run.promise.then(
      (value) => {
        land()
        this.#cache.set(key, value)
      },
      land, // the callers receive the failure through the same promise
    )
    return flight
  }

  #leave(key: string, flight: Flight<Value>): void {
    flight.waiters -= 1
    if (flight.waiters > 0 || this.#flights.get(key) !== flight) return
    this.#flights.delete(key)
    flight.run.cancel()
  }
}

/** Returns one key for a list of parts. Two lists have equal keys only if the lists are equal. */
export async function resultKey(parts: readonly string[]): Promise<string> {
  const [key = ''] = await resultKeys([parts])
  return key
}

/** Hashing this many characters takes about a millisecond. */
const CHARS_PER_TURN = 256 * 1024
/** The fixed cost of one key, expressed in characters. */
const KEY_CHARS = 1024

/**
 * The keys of many lists, as by `resultKey`. The event loop gets a turn about every millisecond.
 */
export async function resultKeys(lists: Iterable<readonly string[]>): Promise<string[]> {
  const keys: string[] = []
  let chars = 0
  for (const parts of lists) {
    const digest = createHash('sha256')
    chars += KEY_CHARS
    for (const piece of piecesOf(parts)) {
      // UTF-16, because a piece may end between the two halves of a surrogate pair.
      digest.update(piece, 'utf16le')
      chars += piece.length
      if (chars < CHARS_PER_TURN) continue
      chars = 0
      await nextTurn()
    }
    keys.push(digest.digest('base64'))
  }
  return keys
}

/** Each part is preceded by its length, so that no characters in it can shift a boundary. */
function* piecesOf(parts: readonly string[]): Generator<string> {
  for (const part of parts) {
    yield `${part.length}:`
    for (let from = 0; from < part.length; from += CHARS_PER_TURN) {
      yield part.slice(from, from + CHARS_PER_TURN)
    }
  }
}
