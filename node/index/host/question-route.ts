// Which workers answer a question of an index.
//
//   home is idle ────────────────────► home answers: one message each way
//   home is busy, a reader less so ──► home divides ──► reader answers the rest ──► join
//                                       └► whole answer   └► lost, or refused: home answers
//
// A division without a part in the home's memory is shared: until the index changes, questions that come while it is
// held go to its reader at once.
//
// Invariants:
//   QR1  Each hold of a division is released, unless the worker that has it ended.
//   QR2  An answer of a reader counts only if its index is still open as it was when the question was
//        divided: a later opening may give the numbers of its segments again.
//   QR3  A question sees what was applied before it was asked: a division is shared only if no change was
//        sent or answered since it was asked for.
//   QR4  A reader that fails costs a question time, and nothing else: the question is asked at home, once.

import { isServiceError, type ErrorCode } from '../../../lib/errors.ts'
import type { Clock } from '../../../lib/clock.ts'
import { runInTurn } from '../../../lib/sliced.ts'
import type { AskedQuestion } from './index-engine.ts'
import type { IndexDivision, IndexKind } from './index-kind.ts'
import type { IndexWorkerThread } from './index-worker-thread.ts'
import type { DividedCallAnswer, RequestOf, StopFlag } from './protocol.ts'
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

/** A view may keep files of merged segments for a second, and for the time of one question more. */
const SHARED_MS_MAX = 1000

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

/** A division that questions share: its hold is released with the last of them. */
interface SharedDivision {
  readonly hold: number
  readonly changes: number
  readonly homeStarts: number
  readonly readerStarts: number
  readonly sinceMs: number
  users: number
}

type Divided = Extract<DividedCallAnswer, { readonly kind: 'divided' }>

/** Sends the questions of one index to its worker, and to others while that one is busy. */
export class QuestionRoute {
  readonly #with: QuestionRouteOptions
  readonly #readers = new Map<IndexWorkerThread, ReaderState>()
  /** They may have something open, whether they are known to or not. */
  readonly #asked = new Set<IndexWorkerThread>()
  readonly #shared = new Map<IndexWorkerThread, SharedDivision>()
  #openings = 0
  #changes = 0

  constructor(options: QuestionRouteOptions) {
    this.#with = options
  }

  /** The flag ends it in all workers. The answer is of the type that the kind gives to the question. */
  ask<Answer>(asked: AskedQuestion, stop: StopFlag): Promise<Answer> {
    const { division } = this.#with.kind
    if (division?.questions.has(asked.question) !== true) return this.#askHome(asked, stop)
    const reader = this.#idlerThanHome()
    if (reader === undefined) return this.#askHome(asked, stop)
    const divided = { asked, stop, division, reader }
    const shared = this.#sharedBy(reader)
    return received(shared === undefined ? this.#divide(divided) : this.#share(divided, shared))
  }

  /** Questions that are asked when the change is answered see it. */
  async change<Answer>(sent: Promise<Answer>): Promise<Answer> {
    this.#changes += 1
    try {
      return await sent
    } finally {
      this.#changes += 1
    }
  }

  /** The index is closed, or about to be opened anew: readers give up what they have of it. */
  forget(): void {
    this.#openings += 1
    const { index } = this.#with
    for (const reader of this.#asked) reader.tell({ kind: 'forget', index })
    this.#asked.clear()
    this.#readers.clear()
    this.#changes += 1
  }

  /** Undefined if none is. A worker that is not running is started for later questions. */
  #idlerThanHome(): IndexWorkerThread | undefined {
    const { home, others } = this.#with
    if (others.length === 0) return undefined
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
    const [openings, changes] = [this.#openings, this.#changes]
    const state = this.#stateOf(reader)
    const homeStarts = home.starts
    const request = { asked, known: state.known, stop }
    const identity = this.#identityOf(asked)
    const own = await home.call({ index, kind: 'divide', request, identity })
    if (own.kind === 'whole') return own.answer
    const { hold, part } = own
    const [readerStarts, sinceMs] = [state.starts, clock.monotonicMs()]
    const held = { hold, changes, homeStarts, readerStarts, sinceMs, users: 0 }
    if (part === undefined) this.#shared.set(reader, held)
    const rest = await this.#while(held, reader, () => this.#rest(divided, own, state))
    const isSame = openings === this.#openings && homeStarts === home.starts
    if (rest === undefined || !isSame) return this.#askHome(asked, stop)
    if (part === undefined) return rest.answer
    const joined = division.join(asked.request, [part, rest.answer])
    return runInTurn(unlessStopped(joined, stop), { clock })
  }

  /** Asks the reader of a division that another question has made. */
  async #share(divided: DividedQuestion, shared: SharedDivision): Promise<unknown> {
    const { asked, stop, reader } = divided
    const openings = this.#openings
    const rest = await this.#while(shared, reader, () => {
      return this.#askReader(divided, { hold: shared.hold, part: undefined })
    })
    const isSame = openings === this.#openings && shared.homeStarts === this.#with.home.starts
    return rest !== undefined && isSame ? rest.answer : this.#askHome(asked, stop)
  }

  /** Holds the division until the answer is there. */
  async #while<Rest>(
    division: SharedDivision,
    reader: IndexWorkerThread,
    ask: () => Promise<Rest>,
  ): Promise<Rest> {
    division.users += 1
    try {
      return await ask()
    } finally {
      division.users -= 1
      if (division.users === 0) this.#release(division, reader)
    }
  }

  #release({ hold, homeStarts }: SharedDivision, reader: IndexWorkerThread): void {
    const { home } = this.#with
    if (this.#shared.get(reader)?.hold === hold) this.#shared.delete(reader)
    if (homeStarts === home.starts) home.tell({ kind: 'release', hold })
  }

  /** Undefined if the reader has no division that a question of now may share. */
  #sharedBy(reader: IndexWorkerThread): SharedDivision | undefined {
    const shared = this.#shared.get(reader)
    if (shared === undefined) return undefined
    const { home, clock } = this.#with
    const isCurrent =
      shared.changes === this.#changes &&
      shared.homeStarts === home.starts &&
      shared.readerStarts === reader.starts &&
      clock.monotonicMs() - shared.sinceMs < SHARED_MS_MAX
    return isCurrent ? shared : undefined
  }

  /** Undefined if the reader cannot tell. */
  async #rest(
    divided: DividedQuestion,
    { sealed, known, hold }: Divided,
    { starts }: ReaderState,
  ): Promise<{ readonly answer: unknown } | undefined> {
    const { reader } = divided
    if (reader.starts !== starts || !reader.isReady) return undefined
    this.#readers.set(reader, { starts, known })
    return this.#askReader(divided, { hold, part: { sealed } })
  }

  async #askReader(
    { asked, stop, reader }: DividedQuestion,
    from: Pick<RequestOf<'answerSealed'>, 'hold' | 'part'>,
  ): Promise<{ readonly answer: unknown } | undefined> {
    const { index, kindName } = this.#with
    const request = { kind: kindName, asked, ...from, stop }
    const identity = this.#identityOf(asked)
    this.#asked.add(reader)
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
