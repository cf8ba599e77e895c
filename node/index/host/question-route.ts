// Which workers answer a question of an index.
//
//   home is idle ────────────────────► home answers: one message each way
//   home is busy, a reader less so ──► home divides ──► reader answers the rest ──► join
//                                       └► whole answer   └► lost, or refused: home answers
//
// Invariants:
//   QR1  Each hold of a division is released, unless the worker that has it ended.
//   QR2  An answer of a reader counts only if its index is still open as it was when the question was
//        divided: a later opening may give the numbers of its segments again.
//   QR3  A reader that fails costs a question time, and nothing else: the question is asked at home, once.

import { isServiceError, type ErrorCode } from '../../../lib/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { runInTurn } from '../../../lib/sliced.ts'
import type { AskedQuestion } from './index-engine.ts'
import type { IndexDivision, IndexKind } from './index-kind.ts'
import type { IndexWorkerThread } from './index-worker-thread.ts'
import type { DividedCallAnswer, StopFlag } from './protocol.ts'
import { unlessStopped } from './stop-flag.ts'

/** Errors of a reader that concern the question, not the reader. */
const ENDS_QUESTION: ReadonlySet<ErrorCode> = new Set<ErrorCode>(['CANCELLED', 'DEADLINE_EXCEEDED'])

/** An index, its worker, and the workers that may read it. */
export interface QuestionRouteOptions {
  readonly index: number
  readonly kind: IndexKind
  /** By which workers know the kind. */
  readonly kindName: string
  readonly home: IndexWorkerThread
  readonly others: readonly IndexWorkerThread[]
  readonly clock: Clock
}

/** What a reader knows of the index, as long as it has not been started again. */
interface ReaderState {
  readonly starts: number
  readonly known: unknown
}

interface DividedQuestion {
  readonly asked: AskedQuestion
  readonly stop: StopFlag
  readonly division: IndexDivision
  readonly reader: IndexWorkerThread
}

type Divided = Extract<DividedCallAnswer, { readonly kind: 'divided' }>

/** Sends the questions of one index to its worker, and to others while that one is busy. */
export class QuestionRoute {
  readonly #with: QuestionRouteOptions
  readonly #readers = new Map<IndexWorkerThread, ReaderState>()
  #openings = 0

  constructor(options: QuestionRouteOptions) {
    this.#with = options
  }

  /** The flag ends it in all workers. The answer is of the type that the kind gives to the question. */
  ask<Answer>(asked: AskedQuestion, stop: StopFlag): Promise<Answer> {
    const { division } = this.#with.kind
    if (division?.questions.has(asked.question) !== true) return this.#askHome(asked, stop)
    const reader = this.#idlerThanHome()
    if (reader === undefined) return this.#askHome(asked, stop)
    return received(this.#divide({ asked, stop, division, reader }))
  }

  /** The index is closed, or about to be opened anew: readers give up what they have of it. */
  forget(): void {
    this.#openings += 1
    const { index } = this.#with
    for (const reader of this.#readers.keys()) reader.tell({ kind: 'forget', index })
    this.#readers.clear()
  }

  /** Undefined if none is. A worker that is not running is started for later questions. */
  #idlerThanHome(): IndexWorkerThread | undefined {
    const { home, others } = this.#with
    let least = home.load
    let found: IndexWorkerThread | undefined
    if (least === 0) return undefined
    for (const other of others) {
      if (!other.isReady) {
        other.start()
      } else if (other.load < least) {
        least = other.load
        found = other
      }
    }
    return found
  }

  #askHome<Answer>(asked: AskedQuestion, stop: StopFlag): Promise<Answer> {
    const { index, home } = this.#with
    const { question, request } = asked
    const identity = this.#identityOf(asked)
    const sent = { index, kind: question, request: { request, stop }, identity }
    return home.call<typeof question, Answer>(sent)
  }

  async #divide(divided: DividedQuestion): Promise<unknown> {
    const { asked, stop, division, reader } = divided
    const { index, home, clock } = this.#with
    const [openings, homeStarts] = [this.#openings, home.starts]
    const state = this.#stateOf(reader)
    const request = { asked, known: state.known, stop }
    const identity = this.#identityOf(asked)
    const own = await home.call({ index, kind: 'divide', request, identity })
    if (own.kind === 'whole') return own.answer
    try {
      const rest = await this.#rest(divided, own, state)
      const isSame = openings === this.#openings && homeStarts === home.starts
      if (rest !== undefined && isSame) {
        if (own.part === undefined) return rest.answer
        const joined = division.join(asked.request, [own.part, rest.answer])
        return await runInTurn(unlessStopped(joined, stop), { clock })
      }
    } finally {
      if (homeStarts === home.starts) home.tell({ kind: 'release', hold: own.hold })
    }
    return this.#askHome(asked, stop)
  }

  /** Undefined if the reader cannot tell. */
  async #rest(
    { asked, stop, reader }: DividedQuestion,
    { sealed, known }: Divided,
    { starts }: ReaderState,
  ): Promise<{ readonly answer: unknown } | undefined> {
    if (reader.starts !== starts || !reader.isReady) return undefined
    const { index, kindName } = this.#with
    const request = { kind: kindName, asked, sealed, stop }
    const identity = this.#identityOf(asked)
    this.#readers.set(reader, { starts, known })
    try {
      return { answer: await reader.call({ index, kind: 'answerSealed', request, identity }) }
    } catch (error) {
      this.#readers.delete(reader)
      if (!isServiceError(error) || ENDS_QUESTION.has(error.code)) throw error
      return undefined
    }
  }

  #stateOf(reader: IndexWorkerThread): ReaderState {
    const { starts } = reader
    const state = this.#readers.get(reader)
    return state?.starts === starts ? state : { starts, known: undefined }
  }

  #identityOf({ question, request }: AskedQuestion): () => readonly unknown[] | undefined {
    return () => this.#with.kind.identityOf(question, request)
  }
}

/** What kinds of index join is of the type that the asker expects, as everything that a worker answers. */
function received<Answer>(answered: Promise<unknown>): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>()
  const asker: Asker = { take: (answer: Answer) => resolve(answer) }
  answered.then((answer) => asker.take(answer), reject)
  return promise
}

interface Asker {
  take(answer: unknown): void
}
