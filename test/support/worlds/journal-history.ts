// Histories of a replicated journal: what happens to its logs, every state of the disk that a power
// failure may leave, and whether a start finds what the model says.

import { must } from '../../../lib/assert.ts'
import { ManualClock } from '../../../lib/clock.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { silentLog } from '../../../lib/log.ts'
import { seededRandom } from '../../../lib/random.ts'
import type { Journal } from '../../../node/journal/journal.ts'
import type { LogPosition } from '../../../node/journal/log-position.ts'
import type { openReplicaLogs, ReplicaLog } from '../../../node/replication/log/replica-log.ts'
import { FaultyDisk } from '../fakes/faulty-disk.ts'
import {
  LogModel,
  stateOfFound,
  type FoundLog,
  type ModelSnapshot,
  type ModelState,
} from '../models/journal-model.ts'
import { LOGS, type Step } from '../models/journal-steps.ts'
import { settle } from '../servers/swarm-harness.ts'
import { textsOfLog } from './journal-source.ts'
import { ReplicaSource } from './replica-source.ts'

const SEGMENT_BYTES = 4096
const KEPT_BYTES = 4 * SEGMENT_BYTES
const IDLE_MS = 1000

/** The code under test: ours, or a copy with a defect planted in it. */
export interface JournalModules {
  readonly Journal: typeof Journal
  readonly openReplicaLogs: typeof openReplicaLogs
}

interface Image {
  readonly disk: FaultyDisk
  readonly logs: readonly ModelSnapshot[]
}

/**
 * Runs the steps, and compares what a start finds after each crash and in images of the disk.
 * Fails at the first difference.
 */
export async function runHistory(
  modules: JournalModules,
  steps: readonly Step[],
  seed: number,
): Promise<{ readonly images: number; readonly segments: number }> {
  const history = new History(modules, seed)
  await history.start()
  for (const step of steps) await history.take(step)
  await history.take({ kind: 'idle' })
  await history.take({ kind: 'crash' })
  return history
}

class History {
  images = 0
  readonly #modules: JournalModules
  readonly #disk: FaultyDisk
  readonly #random: () => number
  readonly #models = LOGS.map(() => new LogModel())
  readonly #waiting: Image[] = []
  #clock = new ManualClock()
  #journal: Journal | undefined
  #sources: readonly ReplicaSource[] = []
  #texts = 0

  constructor(modules: JournalModules, seed: number) {
    this.#modules = modules
    this.#disk = new FaultyDisk(seed)
    this.#random = seededRandom(seed)
    this.#disk.onMoment(() => {
      if (this.#random() < 0.3) this.#waiting.push(this.#image())
    })
  }

  /** The number of the newest segment. */
  get segments(): number {
    const numbers = this.#disk.directory.names.map((name) => Number.parseInt(name, 16))
    return Math.max(...numbers)
  }

  async start(): Promise<void> {
    this.#clock = new ManualClock()
    this.#journal = await this.#open(this.#disk, this.#clock)
    const found = await this.#findAll(this.#journal, this.#snapshots())
    this.#sources = LOGS.map((logId, at) => this.#resume(logId, must(found[at], 'a found log'), at))
    await settle()
  }

  async take(step: Step): Promise<void> {
    if (step.kind === 'crash') await this.#crash()
    else if (step.kind === 'idle') await this.#becomeIdle()
    else this.#change(step)
    for (const { disk, logs } of this.#waiting.splice(0)) {
      this.images += 1
      await this.#findAll(await this.#open(disk, new ManualClock()), logs)
    }
  }

  #open(disk: FaultyDisk, clock: ManualClock): Promise<Journal> {
    const random = seededRandom(5)
    return this.#modules.Journal.open({
      directory: disk.directory,
      clock,
      log: silentLog,
      randomBits: () => Math.floor(random() * 0x1_0000_0000),
      hasRoomFor: () => true,
      onFailure: () => undefined,
      segmentBytes: SEGMENT_BYTES,
      keptBytes: KEPT_BYTES,
      mayMark: true,
    })
  }

  #image(): Image {
    return { disk: this.#disk.image(Math.floor(this.#random() * 1e9)), logs: this.#snapshots() }
  }

  #snapshots(): readonly ModelSnapshot[] {
    return this.#models.map((model) => model.snapshot())
  }

  async #crash(): Promise<void> {
    this.#disk.restart()
    await settle()
    await this.start()
  }

  async #becomeIdle(): Promise<void> {
    await settle()
    this.#clock.advance(IDLE_MS)
    await settle()
  }

  /** What a start found of each log, with the state that it is. */
  async #findAll(
    journal: Journal,
    logs: readonly ModelSnapshot[],
  ): Promise<readonly (FoundState | undefined)[]> {
    const applied = new Map(LOGS.map((logId, at) => [logId, snapshotAt(logs, at).applied]))
    const opened = await this.#modules.openReplicaLogs(journal, applied)
    const kept = await journal.keptLogs(new Set(LOGS))
    const found: (FoundState | undefined)[] = []
    for (const [at, logId] of LOGS.entries()) {
      const snapshot = snapshotAt(logs, at)
      const texts = await textsOfLog(journal, logId)
      const positions = (kept.get(logId)?.rows ?? []).map(({ sequence, epoch, crc }) => {
        return { sequence, epoch, crc }
      })
      const log: FoundLog = { state: journal.stateOf(logId), texts, positions }
      const state = stateOfFound(snapshot, log)
      if (state === undefined) throw new Error(differenceOf(logId, snapshot, log))
      const isStale = checkOpened(state, snapshot, must(opened.get(logId), 'an opened log'))
      found.push({ state, committed: log.state.committed, isStale })
    }
    return found
  }

  #resume(logId: string, found: FoundState, at: number): ReplicaSource {
    const model = must(this.#models[at], 'a model')
    const journal = must(this.#journal, 'the journal')
    model.recover(found.state, found.committed)
    const source = new ReplicaSource(journal, logId, model.end)
    const flush = async (): Promise<number> => flushed(model)
    journal.register(logId, { flush }, model.applied.sequence)
    // The store had the snapshot, and the journal did not hear of it.
    if (found.isStale) this.#restart(model, source, model.applied)
    return source
  }

  #change(step: Exclude<Step, { kind: 'idle' | 'crash' }>): void {
    const model = must(this.#models[step.log], 'a model')
    const source = must(this.#sources[step.log], 'a source')
    switch (step.kind) {
      case 'append':
        for (const bytes of step.sizes) this.#append(model, source, bytes)
        return
      case 'promise':
        return this.#promise(model, source, step.more)
      case 'truncate':
        return this.#truncate(model, source, step.share)
      case 'restart': {
        const sequence = model.committed + step.ahead
        const crc = Math.floor(this.#random() * 0x1_0000_0000)
        // A snapshot comes from a leader whose epoch is promised on disk.
        return this.#restart(model, source, { sequence, epoch: model.acknowledged.promised, crc })
      }
      case 'commit': {
        const { base, entries } = model.acknowledged
        const end = entries.at(-1)?.sequence ?? base.sequence
        if (end <= model.committed || !isPrefix(model)) return
        const sequence = model.committed + Math.ceil((end - model.committed) * step.share)
        model.note(sequence)
        return must(this.#journal, 'the journal').committed(source.logId, sequence)
      }
      case 'flush':
        must(this.#journal, 'the journal').flushed(source.logId, flushed(model))
    }
  }

  #append(model: LogModel, source: ReplicaSource, bytes: number): void {
    const text = `${++this.#texts} `.padEnd(bytes, 'x')
    const done = source.append(text, model.last.promised)
    const { last } = model
    const entries = [...last.entries, { ...source.last, text }]
    acknowledge(done, model.row({ ...last, entries }))
  }

  #promise(model: LogModel, source: ReplicaSource, more: number): void {
    const promised = model.last.promised + more
    acknowledge(source.promise(promised), model.row({ ...model.last, promised }))
  }

  /** A new leader's entry takes the place of those behind some entry that is not committed. */
  #truncate(model: LogModel, source: ReplicaSource, at: number): void {
    const { sequence: end } = model.end
    const lowest = Math.max(model.committed, model.last.base.sequence)
    const position = model.positionAt(lowest + Math.round((end - lowest) * at))
    this.#promise(model, source, 1)
    const entries = model.last.entries.filter(({ sequence }) => sequence <= position.sequence)
    acknowledge(source.truncate(position), model.row({ ...model.last, entries }))
    if (at > 0.2) this.#append(model, source, 10)
  }

  /** The store has taken a snapshot; then the journal hears of it. */
  #restart(model: LogModel, source: ReplicaSource, base: LogPosition): void {
    model.applied = base
    acknowledge(source.restart(base), model.row({ ...model.last, base, entries: [] }))
  }
}

interface FoundState {
  readonly state: ModelState
  /** As the mark says. */
  readonly committed: number
  /** The store has a snapshot that the journal does not know. */
  readonly isStale: boolean
}

/**
 * What a core would start with must be the state that the disk has. True if the store has a snapshot
 * that the journal does not know.
 */
function checkOpened(
  state: ModelState,
  { applied }: ModelSnapshot,
  opened: ReplicaLog | ServiceError,
): boolean {
  const positions = [state.base, ...state.entries]
  const isKnown = positions.some(({ sequence, crc }) => {
    return sequence === applied.sequence && crc === applied.crc
  })
  if (!isKnown) return true
  if (opened instanceof ServiceError) throw opened
  const { log, promised } = opened
  const end = must(positions.at(-1), 'the last position')
  if (promised !== state.promised || log.last.crc !== end.crc) {
    throw new Error(`the core would start at ${JSON.stringify({ promised, last: log.last })}`)
  }
  for (const { sequence, epoch, crc } of positions) {
    const own = log.positionAt(sequence)
    if (sequence >= log.base.sequence && (own?.crc !== crc || own.epoch !== epoch)) {
      throw new Error(`the core would have ${JSON.stringify(own)} as entry ${sequence}`)
    }
  }
  return false
}

/** The store takes what is committed and durable. */
function flushed(model: LogModel): number {
  const sequence = Math.max(model.applied.sequence, model.committed)
  if (sequence > model.applied.sequence) model.applied = model.positionAt(sequence)
  return sequence
}

/** Whether no row that is under way removes acknowledged entries. */
function isPrefix({ acknowledged, last }: LogModel): boolean {
  const { base } = last
  const isSameBase =
    base.sequence === acknowledged.base.sequence && base.crc === acknowledged.base.crc
  if (!isSameBase) return false
  return acknowledged.entries.every(({ crc }, at) => last.entries[at]?.crc === crc)
}

/** A row that a crash prevents is never acknowledged. */
function acknowledge(done: Promise<void>, acknowledged: () => void): void {
  done.then(acknowledged, () => undefined)
}

function snapshotAt(logs: readonly ModelSnapshot[], at: number): ModelSnapshot {
  return must(logs[at], 'the snapshot of a model')
}

function shortOf(positions: readonly LogPosition[]): string {
  return positions.map(({ sequence, epoch }) => `${sequence}e${epoch}`).join(' ')
}

function differenceOf(
  logId: string,
  { states, applied, committed }: ModelSnapshot,
  found: FoundLog,
): string {
  const expected = states.map(({ entries, promised }) => `${shortOf(entries)} promised ${promised}`)
  return [
    `log ${logId}: applied ${applied.sequence}, found ${shortOf(found.positions)}, `,
    `texts ${found.texts.map((text) => text.trim().slice(0, 5)).join(' ')}, ${JSON.stringify(found.state)}`,
    ...expected.map((state) => `or ${state}`),
    `committed one of ${[...committed].join(' ')}`,
  ].join('\n')
}
