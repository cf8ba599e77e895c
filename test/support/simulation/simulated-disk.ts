import type { EntryInfo, LogPosition } from '../../../node/replication/core/log-index.ts'
import type { VirtualTime } from './virtual-time.ts'

const NOTHING: LogPosition = { sequence: 0, epoch: 0, crc: 0 }

/** What a replica has on disk. */
export interface DiskContent {
  base: LogPosition
  /** Those after the base, without a gap. */
  readonly entries: EntryInfo[]
  promised: number
  committed: number
}

type Change = (content: DiskContent) => void

interface Write {
  readonly change: Change
  readonly done: () => void
}

/** More earlier states than this are thinned out. */
const STATES_MAX = 200

/**
 * The disk of one replica. Writes become durable in order and late; a crash loses the others. With `remembers` it can
 * go back to what it was after an earlier sync, as a volume does that is restored from a snapshot.
 */
export class SimulatedDisk {
  readonly #time: VirtualTime
  #durable: DiskContent = { base: NOTHING, entries: [], promised: 0, committed: 0 }
  #states: DiskContent[] = []
  remembers = false
  #pending: Write[] = []
  #life = 0
  #isSyncing = false
  syncMs: readonly [number, number] = [0.2, 3]

  constructor(time: VirtualTime) {
    this.#time = time
  }

  get durable(): Readonly<DiskContent> {
    return this.#durable
  }

  append(
    added: readonly EntryInfo[],
    { truncateAfter, done }: { truncateAfter: number | undefined; done: () => void },
  ): void {
    this.#write(({ base, entries }) => {
      if (truncateAfter !== undefined) entries.length = truncateAfter - base.sequence
      entries.push(...added)
    }, done)
  }

  promise(epoch: number, done: () => void): void {
    this.#write((content) => {
      content.promised = Math.max(content.promised, epoch)
    }, done)
  }

  /** Nobody waits for it: it is durable with the next sync. */
  noteCommitted(committed: number): void {
    this.#pending.push({
      change: (content) => {
        content.committed = Math.max(content.committed, committed)
      },
      done: () => undefined,
    })
  }

  dropThrough(base: LogPosition): void {
    this.#write(
      (content) => {
        if (base.sequence <= content.base.sequence) return // a snapshot came before
        content.entries.splice(0, base.sequence - content.base.sequence)
        content.base = base
        content.committed = Math.max(content.committed, base.sequence)
      },
      () => undefined,
    )
  }

  install(base: LogPosition, done: () => void): void {
    this.#write((content) => {
      content.base = base
      content.entries.length = 0
      content.committed = base.sequence
    }, done)
  }

  /** Some of the writes that were not durable may have reached the disk all the same. */
  crash(): void {
    this.#life += 1
    const survivors = Math.floor(this.#time.random() * (this.#pending.length + 1))
    for (const { change } of this.#pending.slice(0, survivors)) change(this.#durable)
    this.#pending = []
    this.#isSyncing = false
  }

  /** Back to any earlier state, the newest ones as often as all others. Only while nothing uses the disk. */
  goBack(): void {
    const { random } = this.#time
    const from = random() < 0.5 ? Math.max(0, this.#states.length - 10) : 0
    const at = from + Math.floor(random() * (this.#states.length - from))
    const state = this.#states[at]
    if (state === undefined) return
    this.#states.length = at + 1
    this.#durable = copyOf(state)
  }

  #write(change: Change, done: () => void): void {
    this.#pending.push({ change, done })
    this.#sync()
  }

  #sync(): void {
    if (this.#isSyncing || this.#pending.length === 0) return
    this.#isSyncing = true
    const life = this.#life
    const count = this.#pending.length
    this.#time.after(this.#time.between(...this.syncMs), () => {
      if (life !== this.#life) return
      const written = this.#pending.splice(0, count)
      for (const { change } of written) change(this.#durable)
      this.#remember()
      this.#isSyncing = false
      this.#sync()
      for (const { done } of written) done()
    })
  }

  #remember(): void {
    if (!this.remembers) return
    this.#states.push(copyOf(this.#durable))
    if (this.#states.length <= STATES_MAX) return
    this.#states = this.#states.filter((_, at) => at % 2 === 1)
  }
}

function copyOf(content: DiskContent): DiskContent {
  return { ...content, entries: [...content.entries] }
}
