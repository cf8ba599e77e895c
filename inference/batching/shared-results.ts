// Answers from memory, from a run that is under way, or from a new run.
//
// Invariants:
//   SR1  At any moment at most one run is under way for a key.
//   SR2  A run is cancelled when, and only when, the last of those who wait for it has gone.
//   SR3  Only what a run answered is remembered: failures are not.

import { createHash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { unlessAborted } from '../../lib/unless-aborted.ts'
import type { ResultCache } from './result-cache.ts'

/** Work that has begun. After `cancel` its promise may stay pending for ever. */
export interface StartedRun<Value> {
  readonly promise: Promise<Value>
  cancel(this: void): void
}

export type ResultSource = 'cache' | 'shared' | 'run'

export interface SharedResult<Value> {
  readonly value: Value
  readonly source: ResultSource
}

interface Flight<Value> {
  readonly run: StartedRun<Value>
  waiters: number
}

export class SharedResults<Value> {
  readonly #cache: ResultCache<Value>
  readonly #onSource: (source: ResultSource) => void
  readonly #flights = new Map<string, Flight<Value>>()

  constructor(cache: ResultCache<Value>, onSource: (source: ResultSource) => void) {
    this.#cache = cache
    this.#onSource = onSource
  }

  /**
   * One result for each key, in order; equal keys share one run. Rejects with the first failure, or
   * with the signal's reason; either way, nobody waits for the other runs on behalf of this call.
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
      land, // whoever waits is told
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

/** Equal for two lists of parts exactly if the lists are equal. */
export async function resultKey(parts: readonly string[]): Promise<string> {
  const [key = ''] = await resultKeys([parts])
  return key
}

/** Hashing so many characters takes about a millisecond. */
const CHARS_PER_TURN = 256 * 1024
/** What a key costs beside its characters. */
const KEY_CHARS = 1024

/** The keys of many lists, with turns of the event loop in between. */
export async function resultKeys(lists: Iterable<readonly string[]>): Promise<string[]> {
  const keys: string[] = []
  let chars = 0
  for (const parts of lists) {
    const digest = createHash('sha256')
    chars += KEY_CHARS
    for (const piece of piecesOf(parts)) {
      // As they are: a piece may end within a character.
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

/** Lengths in front keep parts apart, whatever characters they hold. */
function* piecesOf(parts: readonly string[]): Generator<string> {
  for (const part of parts) {
    yield `${part.length}:`
    for (let from = 0; from < part.length; from += CHARS_PER_TURN) {
      yield part.slice(from, from + CHARS_PER_TURN)
    }
  }
}
