// The progress of a worker, in memory that the main thread can read even when the worker hangs.

import { QUESTIONS } from './index-engine.ts'

/** Everything that holds the thread for a slice. */
const WORKER_OPERATIONS = [
  'idle',
  'open',
  'reset',
  'setSchema',
  'apply',
  'flush',
  ...QUESTIONS,
  'divide',
  'answerSealed',
  'together',
  'snapshot',
  'stats',
  'learn',
  'close',
  'destroy',
  'maintain',
  'other',
] as const
export type WorkerOperation = (typeof WORKER_OPERATIONS)[number]

export type ProgressMemory = Int32Array<SharedArrayBuffer>

const BEATS = 0
const OPERATION = 1
const INDEX = 2
const CALL = 3
const DOCUMENT = 4
const WORDS = 5
const NO_DOCUMENT = -1
/** Stands for the id of a call in work without one, such as merges; calls have ids from 1 on. */
export const NO_CALL = 0

/** What a slice belongs to. */
export interface WorkerWork {
  readonly operation: WorkerOperation
  readonly index: number
  /** The id of the call, or NO_CALL. */
  readonly call: number
}

/** What the main thread sees of a worker without its help. */
export interface SeenProgress extends WorkerWork {
  /** Goes up with every slice. */
  readonly beats: number
  /** While a batch is applied: the number of the document in it; undefined between documents. */
  readonly document: number | undefined
}

export function newProgressMemory(): ProgressMemory {
  return new Int32Array(new SharedArrayBuffer(WORDS * Int32Array.BYTES_PER_ELEMENT))
}

/** The worker's side. */
export class WorkerProgress {
  readonly #memory: ProgressMemory
  /** By call: the document under way, while slices of other work come between. */
  readonly #documents = new Map<number, number>()
  #call = 0

  constructor(memory: ProgressMemory) {
    this.#memory = memory
  }

  begin({ operation, index, call }: WorkerWork): void {
    this.#call = call
    Atomics.store(this.#memory, OPERATION, WORKER_OPERATIONS.indexOf(operation))
    Atomics.store(this.#memory, INDEX, index)
    Atomics.store(this.#memory, CALL, call)
    Atomics.store(this.#memory, DOCUMENT, this.#documents.get(call) ?? NO_DOCUMENT)
    Atomics.add(this.#memory, BEATS, 1)
  }

  onIndex(index: number): void {
    Atomics.store(this.#memory, INDEX, index)
  }

  onDocument(number: number | undefined): void {
    this.#documents.set(this.#call, number ?? NO_DOCUMENT)
    Atomics.store(this.#memory, DOCUMENT, number ?? NO_DOCUMENT)
  }

  pause(): void {
    Atomics.store(this.#memory, OPERATION, 0)
    Atomics.add(this.#memory, BEATS, 1)
  }

  /** The call is answered. */
  end(call: number): void {
    this.#documents.delete(call)
  }
}

/** The main thread's side. */
export function seenProgress(memory: ProgressMemory): SeenProgress {
  const document = Atomics.load(memory, DOCUMENT)
  return {
    beats: Atomics.load(memory, BEATS),
    operation: WORKER_OPERATIONS[Atomics.load(memory, OPERATION)] ?? 'other',
    index: Atomics.load(memory, INDEX),
    call: Atomics.load(memory, CALL),
    document: document === NO_DOCUMENT ? undefined : document,
  }
}
