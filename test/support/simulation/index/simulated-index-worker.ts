// An index worker in the simulation's own process and time: the host, loop and engines of a real one, with
// messages that are cloned and take a while, slices of any length, and an end at any moment between two slices.

import { MessageChannel, receiveMessageOnPort } from 'node:worker_threads'
import { must } from '../../../../lib/assert.ts'
import { runAtOnce } from '../../../../lib/sliced.ts'
import type { EngineFamilies } from '../../../../node/index/host/index-engine.ts'
import type {
  FromIndexWorker,
  IndexWorkerSettings,
  ToIndexWorker,
  ToldWorker,
} from '../../../../node/index/host/protocol.ts'
import type { StartedWorker, WorkerEvents } from '../../../../node/index/host/started-worker.ts'
import { WorkerProgress, type WorkerWork } from '../../../../node/index/host/worker-progress.ts'
import { emptyWorkerReport } from '../../../../node/index/host/worker-report.ts'
import { IndexHost } from '../../../../node/index/worker/index-host.ts'
import { SliceScheduler } from '../../../../node/index/worker/slice-scheduler.ts'
import { IndexWorkerLoop } from '../../../../node/index/worker/worker-loop.ts'
import type { NodeClock } from '../cluster/node-clock.ts'
import type { Dice } from '../dice.ts'
import { SimulatedDiskWork } from './simulated-disk-work.ts'

/** What a message, and the wait for the next turn of the worker, take in milliseconds. */
const WAY_MS = [0.05, 1.5] as const
/** So much of its slice a step may seem to take, which ends most slices early. */
const STEP_MS_MAX = 6

/** Where a simulated worker lives. */
export interface WorkerWorld {
  readonly families: EngineFamilies
  readonly clock: NodeClock
  readonly dice: Dice
}

export class SimulatedIndexWorker implements StartedWorker {
  readonly #in: WorkerWorld
  readonly #events: WorkerEvents
  readonly #host: IndexHost
  readonly #loop: IndexWorkerLoop
  readonly #opened = new Set<number>()
  readonly #disk: SimulatedDiskWork
  readonly #ends = new MessageChannel()
  #lastArrivalMs = 0
  #isOver = false

  constructor(settings: IndexWorkerSettings, events: WorkerEvents, world: WorkerWorld) {
    this.#in = world
    this.#events = events
    const { families, clock } = world
    const { memoryBytesMax } = settings
    this.#disk = new SimulatedDiskWork(world)
    const progress = new WorkerProgress(settings.progress)
    const post = (message: unknown): void => this.#tell(message)
    this.#host = new IndexHost({
      families,
      clock,
      memoryBytesMax,
      disk: this.#disk,
      progress,
      onBroken: (index, error) => post({ kind: 'broken', index, error }),
      onUnsettled: () => this.#loop.maintain(),
    })
    this.#loop = new IndexWorkerLoop({
      host: this.#host,
      scheduler: this.#scheduler(progress),
      report: async () => emptyWorkerReport(),
      progress,
      post,
      onBug: (error) => this.fail(error),
    })
  }

  post(message: object, transfer: readonly ArrayBuffer[]): void {
    if (this.#isOver) return
    const sent: ToIndexWorker | ToldWorker = this.#carried(message, transfer)
    this.#inOrder(() => {
      if (this.#isOver) return
      if ('index' in sent && sent.kind !== 'forget') this.#opened.add(sent.index)
      this.#loop.receive(sent)
    })
  }

  async terminate(): Promise<void> {
    this.fail(undefined)
  }

  /** Ends where it stands, by an error or from outside. */
  fail(error: unknown): void {
    if (this.#isOver) return
    this.end()
    if (error !== undefined) this.#events.onError(error)
    this.#in.clock.after(0, () => this.#events.onExit())
  }

  /** The process around it ends: nobody hears of it. What engines had open is closed, which writes nothing. */
  end(): void {
    this.#isOver = true
    this.#ends.port1.close()
    for (const index of this.#opened) {
      try {
        runAtOnce(this.#host.handle({ id: 0, index, kind: 'close', request: undefined }))
      } catch {
        // It was not open, or broken.
      }
    }
    this.#disk.end()
  }

  #tell(message: unknown): void {
    if (this.#isOver) return
    const sent: FromIndexWorker<never> = this.#carried(message, [])
    this.#inOrder(() => {
      if (!this.#isOver) this.#events.onMessage(sent)
    })
  }

  /** As a thread gets it. The type is what its sender says, as between threads. */
  #carried(message: unknown, transfer: readonly ArrayBuffer[]) {
    this.#ends.port1.postMessage(message, transfer)
    return must(receiveMessageOnPort(this.#ends.port2), 'the message').message
  }

  /** Both ways share one order, which is stricter than two, and no less than a real channel keeps. */
  #inOrder(arrive: () => void): void {
    const { clock, dice } = this.#in
    const atMs = Math.max(this.#lastArrivalMs, clock.monotonicMs() + dice.between(...WAY_MS))
    this.#lastArrivalMs = atMs
    clock.after(atMs - clock.monotonicMs(), arrive)
  }

  #scheduler(progress: WorkerProgress): SliceScheduler<WorkerWork> {
    const { clock, dice } = this.#in
    let spentMs = 0
    return new SliceScheduler<WorkerWork>({
      clock: { monotonicMs: () => (spentMs += dice.between(0, STEP_MS_MAX)) },
      defer: (turn) =>
        clock.after(dice.between(...WAY_MS), () => {
          if (!this.#isOver) turn()
        }),
      onBegin: (work) => {
        if (work !== undefined) progress.begin(work)
      },
      onEnd: () => progress.pause(),
    })
  }
}
