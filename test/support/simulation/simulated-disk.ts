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

/** The disk of one replica. Writes become durable in order and late; a crash loses the others. */
export class SimulatedDisk {
  readonly #time: VirtualTime
  readonly #durable: DiskContent = { base: NOTHING, entries: [], promised: 0, committed: 0 }
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
      this.#isSyncing = false
      this.#sync()
      for (const { done } of written) done()
    })
  }
}
