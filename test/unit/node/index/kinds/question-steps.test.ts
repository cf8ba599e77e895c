// The rule of slices in index workers, for every question to every kind of index: a worker that answers, the home that
// divides and the reader that answers the sealed part hold their threads for short steps alone, and a question that is
// given up ends with its step.

import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { isServiceError } from '../../../../../lib/errors.ts'
import { runAtOnce, type Paced } from '../../../../../lib/sliced.ts'
import { DISK_WORK_HERE } from '../../../../../node/index/files/disk-work.ts'
import { packBatch, type DocumentChange } from '../../../../../node/index/host/document-batch.ts'
import {
  QUESTIONS,
  type AskedQuestion,
  type EngineFamilies,
} from '../../../../../node/index/host/index-engine.ts'
import { IndexHost } from '../../../../../node/index/worker/index-host.ts'
import {
  STOP_REASONS,
  type DividedCallAnswer,
  type StopFlag,
  type ToIndex,
} from '../../../../../node/index/host/protocol.ts'
import { openEmbeddingsFamily } from '../../../../../node/index/kinds/embeddings-family.ts'
import { INDEX_KINDS } from '../../../../../node/index/kinds/index-kinds.ts'
import { openTextFamily } from '../../../../../node/index/text/hosted/text-family.ts'
import {
  AT_LIMITS,
  SPARSE_AT_LIMITS,
  type ProductKind,
} from '../../../../support/slices/questions-at-limits.ts'
import { cpuMsOf, longestStepAtBestMs } from '../../../../support/slices/step-time.ts'
import { WORK_MS_MAX } from '../../../../support/slices/slice-rule.ts'

/** A slice ends with the first step that ends behind it, so a step has what is left of the rule. */
const STEP_MS_MAX = WORK_MS_MAX.worker / 3 - 10
const BATCH_DOCUMENTS = 1000
const INDEX = 1

/** Every search is divided, however cheap. */
const FAMILIES: { readonly [Kind in ProductKind]: EngineFamilies[string] } = {
  text: (parts) => openTextFamily(parts, { dividedCostMin: 0 }),
  vectors: openEmbeddingsFamily,
}

/** An index of a kind, filled as far as its questions can make it work. */
interface Filled {
  readonly kind: ProductKind
  readonly limits: (typeof AT_LIMITS)[ProductKind]
}

/** By name. */
const FILLED: Readonly<Record<string, Filled>> = {
  text: { kind: 'text', limits: AT_LIMITS.text },
  vectors: { kind: 'vectors', limits: AT_LIMITS.vectors },
  'vectors, which are sparse': { kind: 'vectors', limits: SPARSE_AT_LIMITS },
}

/** The home of an index, and a worker that reads its sealed parts. */
class Workers {
  readonly #filled: Filled
  readonly #home = openHost()
  readonly #reader = openHost()
  readonly #stop: StopFlag = new Int32Array(new SharedArrayBuffer(4))
  #calls = 0

  constructor(filled: Filled) {
    this.#filled = filled
    const { kind } = filled
    const { settings } = filled.limits
    const definition = { id: '0123456789abcdef', kind, name: 'index', memOnly: true, settings }
    const source = { kind: 'given', schema: undefined } as const
    const opening = { definition, directory: undefined, source, fields: [] }
    this.#change({ kind: 'open', request: opening })
    this.#fill()
  }

  ask({ question, request }: AskedQuestion): Paced<unknown> {
    const stop = this.#unset()
    return this.#home.handle({ ...this.#next(), kind: question, request: { request, stop } })
  }

  divide(asked: AskedQuestion): Paced<DividedCallAnswer> {
    const request = { asked, known: undefined, stop: this.#unset() }
    return dividedBy(this.#home.handle({ ...this.#next(), kind: 'divide', request }))
  }

  sealed(asked: AskedQuestion): Paced<unknown> {
    const divided = runAtOnce(this.divide(asked))
    if (divided.kind === 'whole') return expect.fail('the home answers all of it')
    const { hold, sealed } = divided
    const part = { sealed: structuredClone(sealed) }
    const request = { kind: this.#filled.kind, asked, hold, part, stop: this.#unset() }
    return this.#reader.handle({ ...this.#next(), kind: 'answerSealed', request })
  }

  /** What a client does that leaves, or whose time is up. */
  giveUp(reason: number): void {
    Atomics.store(this.#stop, 0, reason)
  }

  /** Most of it sealed, the last documents in memory. */
  #fill(): void {
    const changes = this.#filled.limits.changes()
    let sequence = 0
    for (let from = 0; from < changes.length; from += BATCH_DOCUMENTS) {
      sequence += 1
      if (from + BATCH_DOCUMENTS >= changes.length) {
        this.#change({ kind: 'flush', request: { sequence: sequence - 1 } })
      }
      this.#apply(sequence, from, changes)
    }
  }

  #apply(sequence: number, from: number, changes: readonly DocumentChange[]): void {
    let left = changes.slice(from, from + BATCH_DOCUMENTS)
    while (left.length > 0) {
      const batch = packBatch(sequence, left)
      const { taken, undecided } = Object(this.#change({ kind: 'apply', request: { batch } }))
      left = left.slice(taken)
      if (left.length > 0) this.#change({ kind: 'learn', request: { fields: undecided } })
    }
  }

  #change(call: ChangeOf<ToIndex>): unknown {
    return runAtOnce(this.#home.handle({ ...this.#next(), ...call }))
  }

  #next(): { readonly id: number; readonly index: number } {
    this.#calls += 1
    return { id: this.#calls, index: INDEX }
  }

  #unset(): StopFlag {
    this.giveUp(STOP_REASONS.none)
    return this.#stop
  }
}

type ChangeOf<Call> = Call extends { readonly kind: 'open' | 'apply' | 'flush' | 'learn' }
  ? Omit<Call, 'id' | 'index'>
  : never

function openHost(): IndexHost {
  return new IndexHost({
    families: FAMILIES,
    clock: new ManualClock(),
    memoryBytesMax: 2 ** 30,
    disk: DISK_WORK_HERE,
    onBroken: (_, error) => expect.fail(error.message),
  })
}

/** It is this test's host that says it. */
function* dividedBy(work: Paced<unknown>): Paced<DividedCallAnswer> {
  return Object(yield* work)
}

function codeOf(work: Paced<unknown>): string {
  try {
    return work.next().done === true ? 'it ended' : 'it continued'
  } catch (error) {
    return isServiceError(error) ? error.code : String(error)
  }
}

describe('a question to an index', () => {
  it('is asked of every kind of index', () => {
    expect(Object.keys(AT_LIMITS)).to.have.members(Object.keys(INDEX_KINDS))
  })

  for (const [index, filled] of Object.entries(FILLED)) {
    const { kind } = filled
    describe(`of kind ${index}`, function () {
      this.timeout(240_000)
      let workers: Workers
      before(() => {
        workers = new Workers(filled)
      })

      for (const question of QUESTIONS) {
        const rows: Readonly<Record<string, object>> = filled.limits.questions
        const { [question]: requests = {} } = rows
        for (const [name, request] of Object.entries(requests)) {
          const asked = { question, request }

          it(`holds its worker for short steps: ${question}, ${name}`, () => {
            const answers: unknown[] = []
            const newWork = () => keeping(workers.ask(asked), answers)

            expectShortSteps(newWork)
            expectCancellable(workers, newWork)
            expectShort(() => structuredClone({ request, answer: answers.at(-1) }), 'the messages')
          })

          if (INDEX_KINDS[kind]?.division?.questions.has(question) !== true) continue
          it(`holds its home and its reader for short steps: ${question}, ${name}`, () => {
            const parts: unknown[] = []

            expectShortSteps(() => keeping(workers.divide(asked), parts))
            expectCancellable(workers, () => workers.divide(asked))
            expectShort(() => structuredClone(parts.at(-1)), 'the message with the part')
            // Some are answered by the home alone.
            if (Object(parts.at(-1)).kind === 'whole') return
            expectShortSteps(() => workers.sealed(asked))
            expectCancellable(workers, () => workers.sealed(asked))
          })
        }
      }
    })
  }
})

/** Passes the steps on, and keeps the answer. */
function* keeping(work: Paced<unknown>, kept: unknown[]): Paced<void> {
  kept.push(yield* work)
}

function expectShortSteps(newWork: () => Paced<unknown>): void {
  expect(longestStepAtBestMs(newWork, STEP_MS_MAX), 'the longest step').to.be.below(STEP_MS_MAX)
}

function expectShort(work: () => unknown, what: string): void {
  let bestMs = Infinity
  for (let tries = 4; tries > 0 && bestMs >= STEP_MS_MAX; tries -= 1) {
    bestMs = Math.min(bestMs, cpuMsOf(work))
  }
  expect(bestMs, what).to.be.below(STEP_MS_MAX)
}

/** After the step that is under way. */
function expectCancellable(workers: Workers, newWork: () => Paced<unknown>): void {
  const work = newWork()
  if (work.next().done === true) return

  workers.giveUp(STOP_REASONS.cancelled)

  expect(codeOf(work)).to.equal('CANCELLED')
}
