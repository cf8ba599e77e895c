import type { JournalSource } from '../journal/journal-source.ts'
import type { ProposedCommand } from './apply/proposed-command.ts'

/** What becomes of a proposal that was applied and is not durable yet. */
export interface ProposalFate {
  /** Whether it was refused after all, or never applied. */
  readonly isLost: boolean
  /** The log whose ready entries carry it until it is durable. */
  readonly source: JournalSource
}

export interface ProposalOptions {
  /** A rough size, for the bounds. */
  readonly bytes: number
  /** Called when the command was applied: its outcome stands unless its fate is to be lost. */
  readonly onApplied?: (fate: ProposalFate) => void
  /** False: it may wait some milliseconds for others to share a write of the journal with. Default true. */
  readonly isAwaited?: boolean
  /** Refused unless these still stand; its own entry is not durable before theirs. */
  readonly after?: readonly ProposalFate[]
}

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
