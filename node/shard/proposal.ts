import type { JournalSource } from '../journal/journal-source.ts'
import type { ProposedCommand } from './apply/proposed-command.ts'

/** The fate of a proposal that was applied and is not durable yet. */
export interface ProposalFate {
  /** Whether it was refused after all, or never applied. */
  readonly isLost: boolean
  /** The log whose ready entries carry it until it is durable. */
  readonly source: JournalSource
}

/** How a caller proposes a command. */
export interface ProposalOptions {
  /** A rough size in bytes, which counts against the limits of the queue. */
  readonly bytes: number
  /** Called when the command was applied. Its outcome holds unless `fate.isLost` becomes true. */
  readonly onApplied?: (fate: ProposalFate) => void
  /** False: the entry may wait some milliseconds to share a write of the journal. Default true. */
  readonly isAwaited?: boolean
  /** Refused if one of these is lost. Its own entry becomes durable after theirs. */
  readonly after?: readonly ProposalFate[]
}

/** A proposed command on its way to durability. `done` settles once, when its answer is known. */
export class Proposal implements ProposalFate {
  readonly proposed: ProposedCommand
  readonly options: ProposalOptions
  readonly source: JournalSource
  readonly #done = Promise.withResolvers<void>()
  isLost = false

  constructor(proposed: ProposedCommand, options: ProposalOptions, source: JournalSource) {
    this.proposed = proposed
    this.options = options
    this.source = source
  }

  get bytes(): number {
    return this.options.bytes
  }

  get done(): Promise<void> {
    return this.#done.promise
  }

  resolve(): void {
    this.#done.resolve()
  }

  reject(error: unknown): void {
    this.isLost = true
    this.#done.reject(error)
  }
}
