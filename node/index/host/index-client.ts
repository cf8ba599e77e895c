import { must } from '../../../lib/assert.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { ServiceError } from '../../../lib/errors.ts'
import { receivedError } from '../../../lib/worker-calls.ts'
import type { DocumentBatch } from './document-batch.ts'
import type { AskedQuestion } from './index-engine.ts'
import type { IndexKind } from './index-kind.ts'
import type { IndexWorkerThread } from './index-worker-thread.ts'
import { QuestionRoute } from './question-route.ts'
import type { Identity } from './lost-questions.ts'
import type {
  AnswerOf,
  IndexWorkerCallKind,
  JoinedAnswer,
  RequestOf,
  StopFlag,
} from './protocol.ts'
import { withinLimits, type SearchLimits } from './search-limits.ts'

/** What some indexes answer together. */
export interface TogetherAnswer<Answer> {
  /** The joined answer of the indexes that did not refuse; undefined if all refused. */
  readonly answer: Answer | undefined
  refusalOf(client: IndexClient): ServiceError | undefined
}

/** The index that a client calls, and its thread. */
export interface IndexClientOptions {
  readonly id: number
  readonly thread: IndexWorkerThread
  /** Those that may answer parts of questions while `thread` is busy. */
  readonly others: readonly IndexWorkerThread[]
  readonly clock: Clock
  readonly kind: IndexKind
  /** By which workers know the kind. */
  readonly kindName: string
}

/**
 * An index in a worker. Changes are carried out in their order, questions at once. Every method may
 * reject with UNAVAILABLE (the worker died; open it again) or CORRUPTION (reset it).
 */
export class IndexClient {
  readonly #id: number
  readonly #thread: IndexWorkerThread
  readonly #clock: Clock
  readonly #kind: IndexKind
  readonly #kindName: string
  readonly #workerCount: number
  readonly #route: QuestionRoute

  constructor({ id, thread, ...options }: IndexClientOptions) {
    this.#id = id
    this.#thread = thread
    this.#clock = options.clock
    this.#kind = options.kind
    this.#kindName = options.kindName
    this.#workerCount = options.others.length + 1
    this.#route = new QuestionRoute({ ...options, index: id, home: thread })
  }

  /** Hears of a failure that no call of the owner was answered with. */
  onBroken(listener: (error: ServiceError) => void): void {
    this.#thread.listen(this.#id, listener)
  }

  open(request: RequestOf<'open'>): Promise<AnswerOf<'open'>> {
    this.#route.forget()
    return this.#call('open', request)
  }

  async reset(request: RequestOf<'reset'>): Promise<void> {
    this.#route.forget()
    await this.#call('reset', request)
  }

  async setSchema(schema: RequestOf<'setSchema'>['schema']): Promise<void> {
    await this.#route.change(this.#call('setSchema', { schema }))
  }

  async learn(fields: RequestOf<'learn'>['fields']): Promise<void> {
    await this.#route.change(this.#call('learn', { fields }))
  }

  /** The batch's buffers are gone afterwards. */
  apply(batch: DocumentBatch): Promise<AnswerOf<'apply'>> {
    const transfer = [batch.bytes.buffer, batch.entries.buffer]
    const sent = { index: this.#id, kind: 'apply', request: { batch }, transfer } as const
    return this.#route.change(this.#thread.call(sent))
  }

  flush(sequence: number): Promise<AnswerOf<'flush'>> {
    return this.#call('flush', { sequence })
  }

  /**
   * Rejects with CANCELLED or DEADLINE_EXCEEDED as soon as a limit is met; the worker follows. The
   * answer is of the type that the kind gives to the question.
   */
  ask<Answer>(asked: AskedQuestion, limits: SearchLimits): Promise<Answer> {
    return withinLimits(limits, this.#clock, (stop) => this.#route.ask<Answer>(asked, stop))
  }

  /** Indexes with the same worker may be asked together. */
  get worker(): object {
    return this.#thread
  }

  /** Whether a question to `count` indexes of one worker, this among them, is better asked of all together. */
  mayJoin({ question }: Pick<AskedQuestion, 'question'>, count: number): boolean {
    // A few large indexes are searched sooner when idle workers read parts of them.
    return count > this.#workerCount && this.#kind.joined.has(question)
  }

  /**
   * As `ask`, of several indexes of one kind and worker. It rejects only with what ends the question, or the worker;
   * the failure of one index is part of the answer.
   */
  static async askTogether<Answer>(
    clients: readonly IndexClient[],
    asked: AskedQuestion,
    limits: SearchLimits,
  ): Promise<TogetherAnswer<Answer>> {
    const first = must(clients[0], 'an index to ask')
    const { answer, refused } = await withinLimits(limits, first.#clock, (stop) =>
      first.#askTogether<Answer>(clients, asked, stop),
    )
    const refusals = new Map(refused.map(({ index, error }) => [index, receivedError(error)]))
    return { answer, refusalOf: (client) => refusals.get(client.#id) }
  }

  #askTogether<Answer>(
    clients: readonly IndexClient[],
    asked: AskedQuestion,
    stop: StopFlag,
  ): Promise<JoinedAnswer<Answer>> {
    const indexes = clients.map((client) => client.#id)
    const request = { kind: this.#kindName, indexes, asked, stop }
    const { question, request: body } = asked
    const identity = (): Identity => this.#kind.identityOf(question, body)
    const sent = { index: this.#id, kind: 'together', request, identity } as const
    return this.#thread.call<'together', JoinedAnswer<Answer>>(sent)
  }

  /** Links the files of the last checkpoint into an empty directory on the same disk. */
  snapshot(directory: string): Promise<AnswerOf<'snapshot'>> {
    return this.#call('snapshot', { directory })
  }

  stats(): Promise<AnswerOf<'stats'>> {
    return this.#call('stats', undefined)
  }

  async close(): Promise<void> {
    this.#route.forget()
    this.#thread.forget(this.#id)
    await this.#call('close', undefined)
  }

  async destroy(request: RequestOf<'destroy'>): Promise<void> {
    this.#route.forget()
    this.#thread.forget(this.#id)
    await this.#call('destroy', request)
  }

  #call<Kind extends IndexWorkerCallKind>(
    kind: Kind,
    request: RequestOf<Kind>,
  ): Promise<AnswerOf<Kind>> {
    return this.#thread.call({ index: this.#id, kind, request })
  }
}
