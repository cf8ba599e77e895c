// The indexes of one worker. An index that failed while it was changed answers everything with that
// failure until it is opened anew or reset: what it has in memory can no longer be trusted.

import { assert, unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import type { Paced, Sliced } from '../../../lib/sliced.ts'
import { sentError, type SentError } from '../../../lib/worker-calls.ts'
import { removeDirectory } from '../files/durable-file.ts'
import {
  QUESTIONS,
  type EngineFamilies,
  type EngineFamily,
  type FamilyParts,
  type IndexEngine,
  type IndexOpening,
  type Question,
} from '../host/index-engine.ts'
import type {
  DividedCallAnswer,
  IndexWorkerCallKind,
  JoinedAnswer,
  OpenedIndex,
  RequestOf,
  ToIndex,
  ToldWorker,
} from '../host/protocol.ts'
import { answerTogether } from './answer-together.ts'
import { DivisionHolds, SealedReaders } from './sealed-readers.ts'
import { unlessStopped } from '../host/stop-flag.ts'
import { serviceErrorOf } from './service-error-of.ts'
import type { CacheReport } from '../host/worker-report.ts'

const NAMES: ReadonlySet<string> = new Set(QUESTIONS)
const SIDE_CALLS: ReadonlySet<IndexWorkerCallKind> = new Set([
  'divide',
  'answerSealed',
  'together',
  'stats',
  'learn',
  'snapshot',
])

/**
 * Whether a call runs at once, without waiting for the changes before it. Questions change nothing.
 * Learnt fields only add to the known fields, and searches need them at once.
 */
export function isQuestion(kind: IndexWorkerCallKind): boolean {
  return NAMES.has(kind) || SIDE_CALLS.has(kind)
}

type ToAnswer = Extract<ToIndex, { readonly kind: Question }>

function isAsked(message: Exclude<ToIndex, ToAnswerPart>): message is ToAnswer {
  return NAMES.has(message.kind)
}

/** A question that two workers answer, or of which several indexes answer parts. */
type ToAnswerPart = Extract<ToIndex, { readonly kind: 'divide' | 'answerSealed' | 'together' }>

const ABOUT_PARTS: ReadonlySet<IndexWorkerCallKind> = new Set([
  'divide',
  'answerSealed',
  'together',
])

function isAboutPart(message: ToIndex): message is ToAnswerPart {
  return ABOUT_PARTS.has(message.kind)
}

/** What a host works with, and who hears of an index that broke without being asked. */
export interface IndexHostOptions extends FamilyParts {
  readonly families: EngineFamilies
  /** Hears what is being worked on. */
  readonly progress?: {
    onIndex(index: number): void
    onDocument(number: number | undefined): void
  }
  onBroken(index: number, error: SentError): void
  /** Hears that there is more to maintain, though no call came. */
  onUnsettled?(): void
}

interface HostedIndex {
  readonly family: EngineFamily
  readonly engine: IndexEngine
}

/**
 * Carries out the calls of one worker by the engines of its indexes. Nothing runs by itself: the
 * caller drives its generators.
 */
export class IndexHost {
  readonly #with: IndexHostOptions
  readonly #families = new Map<string, EngineFamily>()
  readonly #indexes = new Map<number, HostedIndex>()
  readonly #broken = new Map<number, ServiceError>()
  /** The indexes that may have something to flush or merge, the next one first. */
  readonly #unsettled = new Set<number>()
  readonly #holds = new DivisionHolds()
  readonly #readers = new SealedReaders((kind) => this.#familyOf(kind))

  constructor(options: IndexHostOptions) {
    this.#with = options
  }

  /**
   * Carries out a call in steps of a millisecond or so and returns its answer; throws a
   * ServiceError alone. Between the steps questions may be answered; a step comes after the promise that
   * the one before yielded.
   */
  *handle(message: ToIndex): Paced<unknown> {
    const { index: id, kind } = message
    const changes = !isQuestion(kind)
    try {
      return yield* isAboutPart(message) ? this.#answerPart(message) : this.#handle(message)
    } catch (error) {
      const failure = serviceErrorOf(error)
      // A reader's index lives elsewhere, and its home will meet the damage; of several indexes it is known which one.
      const isOwn = kind !== 'answerSealed' && kind !== 'together'
      const isDamaged = failure.code === 'CORRUPTION' && isOwn
      if (changes || isDamaged) this.#break(id, failure)
      throw failure
    } finally {
      if (changes) this.#unsettled.add(id)
    }
  }

  /** For what is not answered. */
  hear(message: ToldWorker): void {
    if (message.kind === 'release') this.#release(message.hold)
    else this.#readers.forget(message.index)
  }

  get isSettled(): boolean {
    return this.#unsettled.size === 0
  }

  /** Flushes and merges until no index has more to do. The indexes take turns, a step each. */
  *maintainInSteps(): Sliced<void> {
    for (let [id] = this.#unsettled; id !== undefined; [id] = this.#unsettled) {
      this.#unsettled.delete(id)
      this.#with.progress?.onIndex(id)
      try {
        if (this.#indexes.get(id)?.engine.maintain() === true) this.#unsettled.add(id)
      } catch (error) {
        this.#break(id, serviceErrorOf(error))
      }
      yield
    }
  }

  /** The caches of all kinds of index that the worker has. */
  caches(): CacheReport {
    return Object.assign({}, ...this.#families.values().map((family) => family.caches()))
  }

  *#handle(message: Exclude<ToIndex, ToAnswerPart>): Paced<unknown> {
    if (isAsked(message)) {
      const { index: asked, kind: question, request: body } = message
      const { engine } = this.#hosted(asked)
      return yield* unlessStopped(engine.answer({ question, request: body.request }), body.stop)
    }
    const { index: id, kind, request } = message
    switch (kind) {
      case 'open':
        return yield* this.#open(id, request)
      case 'reset':
        return yield* this.#reset(id, request)
      case 'setSchema':
        return yield* this.#hosted(id).engine.setSchema(request.schema)
      case 'apply':
        return yield* this.#apply(id, request)
      case 'flush':
        yield* this.#hosted(id).engine.flush(request.sequence)
        return { checkpoint: this.#hosted(id).engine.checkpoint }
      case 'snapshot':
        return this.#hosted(id).engine.snapshot(request.directory)
      case 'stats':
        return this.#hosted(id).engine.report()
      case 'learn':
        return yield* this.#hosted(id).engine.learn(request.fields)
      case 'close':
        return this.#close(id)
      case 'destroy':
        this.#close(id)
        return this.#remove(request.directory)
      default:
        return unreachable(kind)
    }
  }

  #answerPart({ index: id, kind, request }: ToAnswerPart): Sliced<unknown> {
    switch (kind) {
      case 'divide':
        return this.#divide(id, request)
      case 'answerSealed':
        return this.#readers.answer(id, request)
      case 'together':
        return this.#answerTogether(request)
      default:
        return unreachable(kind)
    }
  }

  #answerTogether(request: RequestOf<'together'>): Sliced<JoinedAnswer> {
    const { kind, asked } = request
    const join = this.#familyOf(kind).join?.(asked)
    assert(join !== undefined, 'the kind of index joins answers')
    const { progress } = this.#with
    return answerTogether(request, {
      join,
      engineOf: (index) => {
        progress?.onIndex(index)
        return this.#hosted(index).engine
      },
      onDamaged: (index, error) => this.#break(index, error),
    })
  }

  *#divide(id: number, { asked, known, stop }: RequestOf<'divide'>): Sliced<DividedCallAnswer> {
    const { engine } = this.#hosted(id)
    if (engine.divide === undefined) {
      return { kind: 'whole', answer: yield* unlessStopped(engine.answer(asked), stop) }
    }
    return this.#holds.keep(id, yield* unlessStopped(engine.divide(asked, known), stop))
  }

  /** Files that only the held view needed are removed. */
  #release(hold: number): void {
    const held = this.#holds.take(hold)
    try {
      held?.release()
    } catch (error) {
      if (held !== undefined) this.#break(held.index, serviceErrorOf(error))
    }
  }

  *#apply(id: number, { batch }: RequestOf<'apply'>): Paced<unknown> {
    const { engine, family } = this.#hosted(id)
    const { progress } = this.#with
    const work = engine.apply(batch, (number) => progress?.onDocument(number))
    for (;;) {
      const step = work.next()
      if (step.done === true) return { ...step.value, checkpoint: engine.checkpoint }
      yield step.value
      // While a document is being added, a flush would wait for it, and making room would wait for the flush.
      if (!engine.isAdding) yield* this.#makeRoom(family)
    }
  }

  /** Keeps what engines of one kind hold in memory alone within their bound: the largest are flushed. */
  *#makeRoom(family: EngineFamily): Paced<void> {
    while (this.#unflushedBytes(family) > family.unflushedBytesMax) {
      const [largest] = [...this.#indexes]
        .filter(([, hosted]) => hosted.family === family)
        .toSorted(([, a], [, b]) => b.engine.unflushedBytes - a.engine.unflushedBytes)
      if (largest === undefined) return
      const [id, { engine }] = largest
      let waitsFor: Promise<void> | undefined
      try {
        waitsFor = engine.makeRoom()
      } catch (error) {
        this.#break(id, serviceErrorOf(error))
      }
      yield waitsFor
    }
  }

  #unflushedBytes(of: EngineFamily): number {
    let bytes = 0
    for (const { family, engine } of this.#indexes.values()) {
      if (family === of) bytes += engine.unflushedBytes
    }
    return bytes
  }

  *#open(id: number, opening: IndexOpening): Paced<OpenedIndex> {
    this.#close(id)
    const family = this.#familyOf(opening.definition.kind)
    const opened = yield* family.open(opening, () => this.#wake(id))
    if (opened.kind === 'outdated') {
      return { checkpoint: 0, documents: 0, outdated: opened.outdated }
    }
    const { engine } = opened
    this.#indexes.set(id, { family, engine })
    const { documents } = engine.report()
    return { checkpoint: engine.checkpoint, documents, outdated: undefined }
  }

  *#reset(id: number, { schema, ...place }: RequestOf<'reset'>): Paced<undefined> {
    this.#close(id)
    this.#remove(place.directory)
    yield* this.#open(id, { ...place, source: { kind: 'given', schema } })
  }

  #remove(directory: string | undefined): undefined {
    if (directory !== undefined) removeDirectory(directory, this.#with.disk)
  }

  #familyOf(kind: string): EngineFamily {
    const known = this.#families.get(kind)
    if (known !== undefined) return known
    const make = this.#with.families[kind]
    if (make === undefined) {
      throw new ServiceError('UNAVAILABLE', `this version knows no indexes of kind "${kind}"`)
    }
    const made = make(this.#with)
    this.#families.set(kind, made)
    return made
  }

  /** Another thread has done its part of what the index maintains. */
  #wake(id: number): void {
    if (!this.#indexes.has(id)) return
    this.#unsettled.add(id)
    this.#with.onUnsettled?.()
  }

  #close(id: number): undefined {
    this.#indexes.get(id)?.engine.close()
    this.#indexes.delete(id)
    this.#holds.forget(id)
    this.#unsettled.delete(id)
    this.#broken.delete(id)
  }

  #break(id: number, error: ServiceError): void {
    if (this.#broken.has(id)) return
    this.#close(id)
    this.#broken.set(id, error)
    this.#with.onBroken(id, sentError(error))
  }

  #hosted(id: number): HostedIndex {
    const hosted = this.#indexes.get(id)
    if (hosted !== undefined) return hosted
    throw this.#broken.get(id) ?? new ServiceError('UNAVAILABLE', 'the index is not open')
  }
}
