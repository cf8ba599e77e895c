import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { DISK_WORK_HERE } from '../../../../../node/index/files/disk-work.ts'
import { openTextFamily } from '../../../../../node/index/text/hosted/text-family.ts'
import type { TableField } from '../../../../../node/schema/table-field.ts'
import { packBatch } from '../../../../../node/index/host/document-batch.ts'
import type {
  FromIndexWorker,
  RequestOf,
  IndexWorkerCallKind,
} from '../../../../../node/index/host/protocol.ts'
import { SliceHistogram } from '../../../../../node/index/host/slice-histogram.ts'
import { SliceScheduler } from '../../../../../node/index/worker/slice-scheduler.ts'
import { IndexHost } from '../../../../../node/index/worker/index-host.ts'
import { IndexWorkerLoop } from '../../../../../node/index/worker/worker-loop.ts'
import {
  newProgressMemory,
  WorkerProgress,
  type WorkerWork,
} from '../../../../../node/index/host/worker-progress.ts'
import { emptyWorkerReport } from '../../../../../node/index/host/worker-report.ts'
import { EVERYTHING } from '../../../../support/worlds/memory-text-index.ts'

const TURNS_MAX = 20_000

describe('the loop of an index worker', () => {
  let directory = ''

  beforeEach(() => {
    directory = mkdtempSync(path.join(tmpdir(), 'text-worker-loop-'))
  })

  afterEach(() => rmSync(directory, { recursive: true, force: true }))

  it('answers searches of other indexes while a large document is applied', async () => {
    const world = new World(directory)
    for (const index of [1, 2]) {
      world.send(index, { kind: 'open', request: world.openRequest(index) })
    }
    world.send(2, { kind: 'apply', request: { batch: packBatch(1, [documentOf('small', 3)]) } })
    await world.settle()

    const large = world.send(1, {
      kind: 'apply',
      request: { batch: packBatch(1, [documentOf('large', 40_000)]) },
    })
    const search = world.sendSearch(2)
    await world.settle()

    expect(world.order([large, search])).to.deep.equal([search, large])
    expect(world.answerTo(search)).to.include({ total: 1 })
  })

  it('answers a question before it works on the next one (L3)', async () => {
    const world = new World(directory)
    world.send(1, { kind: 'open', request: world.openRequest(1) })
    await world.settle()
    const during: unknown[] = []

    const first = world.sendSearch(1)
    world.sendSearch(1)
    world.onSlice = () => during.push(world.answerTo(first))
    await world.turn(1)

    expect(during).to.have.length(2)
    expect(during[0]).to.include({ total: 0 })
  })

  it('shows a search either the earlier or the later version of a document', async () => {
    const world = new World(directory)
    world.send(1, { kind: 'open', request: world.openRequest(1) })
    await world.settle()

    const apply = world.send(1, {
      kind: 'apply',
      request: { batch: packBatch(1, [documentOf('k', 40_000)]) },
    })
    const before = world.sendSearch(1)
    await world.turn(3)
    const meanwhile = world.sendSearch(1)
    await world.settle()
    const afterwards = world.sendSearch(1)
    await world.settle()

    expect(world.order([apply, before, meanwhile])[2]).to.equal(apply)
    expect(world.answerTo(before)).to.include({ total: 0 })
    expect(world.answerTo(meanwhile)).to.include({ total: 0 })
    expect(world.answerTo(afterwards)).to.include({ total: 1 })
  })

  it('applies the changes of one index in order', async () => {
    const world = new World(directory)
    const ids = [
      world.send(1, { kind: 'open', request: world.openRequest(1) }),
      world.send(1, { kind: 'apply', request: { batch: packBatch(1, [documentOf('k', 20_000)]) } }),
      world.send(1, { kind: 'flush', request: { sequence: 1 } }),
      world.send(1, { kind: 'close', request: undefined }),
      world.send(1, { kind: 'open', request: world.openRequest(1) }),
    ]
    await world.settle()

    expect(world.order(ids)).to.deep.equal(ids)
    expect(world.answerTo(ids[2]!)).to.deep.equal({ checkpoint: 1 })
    expect(world.answerTo(ids[4]!)).to.include({ checkpoint: 1, documents: 1 })
  })

  it('makes room for a document that is larger than what all indexes may hold', async () => {
    const world = new World(directory, 64 * 1024)
    for (const index of [1, 2]) {
      world.send(index, { kind: 'open', request: world.openRequest(index) })
    }
    await world.settle()

    const apply = (index: number, words: number): number => {
      const batch = packBatch(1, [documentOf(`${index} ${world.turns}`, words)])
      return world.send(index, { kind: 'apply', request: { batch } })
    }
    const ids = [apply(1, 50)]
    await world.settle()
    ids.push(apply(1, 100_000))
    // At some turn both together are too much, and the first one is in the midst of its document.
    while (!world.order(ids).includes(ids[1]!) && world.turns < 1000) {
      ids.push(apply(2, 3))
      await world.turn(1)
    }
    await world.settle()

    expect(world.order(ids)).to.have.length(ids.length)
    expect(world.slices.report().longest).to.have.property('operation')
  })

  it('links the files of a checkpoint while the index takes changes', async () => {
    const copy = path.join(directory, 'copy')
    mkdirSync(copy)
    const world = new World(directory)
    world.send(1, { kind: 'open', request: world.openRequest(1) })
    world.send(1, { kind: 'apply', request: { batch: packBatch(1, [documentOf('k', 3)]) } })
    world.send(1, { kind: 'flush', request: { sequence: 1 } })
    await world.settle()

    const taken = world.send(1, { kind: 'snapshot', request: { directory: copy } })
    await world.settle()
    const search = world.sendSearch(1)
    await world.settle()

    expect(world.answerTo(taken)).to.include({ checkpoint: 1 })
    expect(readdirSync(copy)).to.include.members(['manifest', 'mapping'])
    expect(world.answerTo(search)).to.include({ total: 1 })
  })

  it('merges flushed segments when it is idle', async () => {
    const world = new World(directory)
    world.send(1, { kind: 'open', request: world.openRequest(1) })
    for (let sequence = 1; sequence <= 10; sequence += 1) {
      world.send(1, {
        kind: 'apply',
        request: { batch: packBatch(sequence, [documentOf(`k${sequence}`, 3)]) },
      })
      world.send(1, { kind: 'flush', request: { sequence } })
    }
    await world.settle()

    const stats = world.send(1, { kind: 'stats', request: undefined })
    await world.settle()

    expect(world.answerTo(stats)).to.include({ documents: 10, segments: 1 })
  })
})

/** The field of all documents here. */
const TEXT: TableField = { path: ['text'], kind: 'string', documentType: undefined }

function documentOf(key: string, words: number) {
  const text = Array.from({ length: words }, (_, i) => `w${i}`).join(' ')
  return { key: Buffer.from(key), json: Buffer.from(JSON.stringify({ text })), expiresAtMs: 0 }
}

type SentCall = {
  readonly [Kind in IndexWorkerCallKind]: { readonly kind: Kind; readonly request: RequestOf<Kind> }
}[IndexWorkerCallKind]

class World {
  readonly slices = new SliceHistogram()
  readonly #deferred: (() => void)[] = []
  readonly #clock = new ManualClock()
  readonly #answers = new Map<number, unknown>()
  readonly #loop: IndexWorkerLoop
  readonly #directory: string
  #nextId = 1
  turns = 0
  onSlice: () => void = () => undefined

  constructor(directory: string, memoryBytesMax = 64 * 2 ** 20) {
    this.#directory = directory
    const progress = new WorkerProgress(newProgressMemory())
    const clock = this.#clock
    this.#loop = new IndexWorkerLoop({
      host: new IndexHost({
        families: { text: openTextFamily },
        clock,
        memoryBytesMax,
        disk: DISK_WORK_HERE,
        onBroken: fail,
      }),
      // Every look at the clock is a step of a millisecond.
      scheduler: new SliceScheduler<WorkerWork>({
        clock: {
          monotonicMs: () => {
            clock.advance(1)
            return clock.monotonicMs()
          },
        },
        defer: (turn) => this.#deferred.push(turn),
        onEnd: ({ label, ms }) => {
          this.slices.add({ operation: label?.operation ?? '', ms, cpuMs: ms, workMs: ms })
          this.onSlice()
        },
      }),
      report: async () => ({ ...emptyWorkerReport(), slices: this.slices.report() }),
      progress,
      post: (message) => this.#receive(message),
      onBug: fail,
    })
  }

  openRequest(index: number): RequestOf<'open'> {
    const directory = path.join(this.#directory, String(index))
    const definition = { id: '0123456789abcdef', kind: 'text', name: 'words', memOnly: false }
    return { definition, directory, source: { kind: 'given', schema: undefined }, fields: [TEXT] }
  }

  send(index: number, call: SentCall): number {
    const id = this.#nextId++
    this.#loop.receive({ ...call, id, index })
    return id
  }

  sendSearch(index: number): number {
    const stop = new Int32Array(new SharedArrayBuffer(4))
    return this.send(index, { kind: 'search', request: { request: EVERYTHING, stop } })
  }

  async turn(count: number): Promise<void> {
    for (let left = count; left > 0; left -= 1) {
      this.turns += 1
      await new Promise(setImmediate)
      for (const turn of this.#deferred.splice(0)) turn()
    }
  }

  /** Until nothing is left to do. */
  async settle(): Promise<void> {
    for (let turns = 0; turns < TURNS_MAX; turns += 1) {
      await this.turn(1)
      await new Promise(setImmediate)
      if (this.#deferred.length === 0) return
    }
    expect.fail('the worker never comes to rest')
  }

  /** Those that are answered, the first one first. */
  order(ids: readonly number[]): readonly number[] {
    return [...this.#answers.keys()].filter((id) => ids.includes(id))
  }

  answerTo(id: number): unknown {
    return this.#answers.get(id)
  }

  #receive(message: FromIndexWorker<unknown>): void {
    if (message.kind === 'answer') this.#answers.set(message.id, message.answer)
    else fail(message)
  }
}

function fail(...what: readonly unknown[]): never {
  return expect.fail(JSON.stringify(what))
}
