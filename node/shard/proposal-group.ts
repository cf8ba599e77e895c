import type { AppendedEntry } from '../journal/batch-writer.ts'
import type { JournalSource } from '../journal/journal-source.ts'
import type { Proposal } from './proposal.ts'
import type { AppliedCommand } from './shard-state.ts'

/** Proposals that were applied together and become durable together, or are refused together. */
export class ProposalGroup {
  /** Those with an entry, in the order of the entries. */
  readonly proposals: Proposal[] = []
  /** Proposals without an entry: they have only read what the group writes. */
  readonly readers: Proposal[] = []
  readonly applied: AppliedCommand[] = []
  readonly entries: AppendedEntry[] = []
  /** The logs whose ready entries must become durable with these. */
  readonly companions = new Set<JournalSource>()
  #bytes = 0
  #isAwaited = false
  #done: PromiseWithResolvers<void> | undefined

  get bytes(): number {
    return this.#bytes
  }

  /** Whether somebody waits until it is durable. */
  get isAwaited(): boolean {
    return this.#isAwaited
  }

  add(proposal: Proposal, applied: AppliedCommand): void {
    this.proposals.push(proposal)
    this.#await(proposal)
    this.applied.push(applied)
    this.entries.push(applied.appended)
    this.#bytes += applied.bytes
    for (const { source } of proposal.options.after ?? []) this.companions.add(source)
  }

  /** Adds a proposal without an entry. Its answer waits until the group it has read is durable. */
  join(proposal: Proposal): void {
    this.readers.push(proposal)
    this.#await(proposal)
  }

  /** Every proposal has its answer. */
  end(): void {
    this.#done?.resolve()
  }

  /** Resolves at the end. */
  ended(): Promise<void> {
    this.#done ??= Promise.withResolvers()
    return this.#done.promise
  }

  #await({ options }: Proposal): void {
    this.#isAwaited ||= options.isAwaited ?? true
  }
}
