// The inference server that a store starts for itself, so that an index without further settings finds its
// embedder. It runs in a process of its own: a model that fails takes no store with it.

import type { Clock } from '../../lib/clock.ts'
import { prodWhenLate } from '../../lib/deadline.ts'
import { ServiceError } from '../../lib/errors.ts'
import { Child, type ChildCommand } from './child.ts'
import { readyPlaces } from './ready-line.ts'

const START_MAX_MS = 60_000
const STOP_MAX_MS = 10_000
const NAME = 'inference'

/** What the server is started with. */
export interface OwnInferenceOptions {
  /** Prints a ready line as `quarry inference` does. */
  readonly command: ChildCommand
  readonly clock: Clock
  /** A line of its log. */
  readonly onLog: (line: string) => void
}

/**
 * Starts an inference server when it is needed first.
 *
 * Contract:
 * - `url` answers where it serves. One that has ended is started again by the next call. Rejects with UNAVAILABLE
 *   when it does not start, and after `close`.
 * - `close` ends it. It ends with this process, too.
 */
export class OwnInference implements AsyncDisposable {
  readonly #with: OwnInferenceOptions
  #child: Child | undefined
  #serving: Promise<string> | undefined
  #isClosed = false

  constructor(options: OwnInferenceOptions) {
    this.#with = options
  }

  async url(): Promise<string> {
    if (this.#isClosed) throw unavailable('the store ends')
    this.#serving ??= this.#start()
    return this.#serving
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    const child = this.#child
    if (child === undefined || !child.isRunning) return
    const onLate = (): void => child.kill()
    await prodWhenLate(child.terminate(), { clock: this.#with.clock, ms: STOP_MAX_MS, onLate })
  }

  async #start(): Promise<string> {
    const { command, clock, onLog } = this.#with
    const { promise: ready, resolve } = Promise.withResolvers<string>()
    const onOutput = (line: string): void => {
      const places = readyPlaces(line)
      if (places !== undefined) resolve(places.api)
    }
    const child = new Child(NAME, command, { onOutput, onLog })
    this.#child = child
    const ended = child.ended.then((how): never => {
      this.#serving = undefined
      throw unavailable([how, ...child.tail.slice(-1)].join(': '))
    })
    const onLate = (): void => child.kill()
    return prodWhenLate(Promise.race([ready, ended]), { clock, ms: START_MAX_MS, onLate })
  }
}

function unavailable(problem: string): ServiceError {
  return new ServiceError('UNAVAILABLE', `the store's own inference server: ${problem}`)
}
