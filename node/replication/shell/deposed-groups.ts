import type { EntrySpan, SpanFate } from '../core/span-fate.ts'

/** Callers wait at most 5 s for a successor that commits nothing. */
export const FATE_MS_MAX = 5000

/** What became of a group whose leader stopped before it was committed. */
export type GroupFate = Exclude<SpanFate, 'open'>

/** What the groups ask. */
export interface DeposedGroupsOptions {
  readonly fateOf: (span: EntrySpan) => SpanFate
  readonly monotonicMs: () => number
}

interface Deposed {
  readonly span: EntrySpan
  readonly untilMs: number
  readonly settle: (fate: GroupFate) => void
}

/**
 * The groups of leaderships of this replica that are over. The log that the successors commit decides what became
 * of each; after FATE_MS_MAX nobody waits for that any more.
 */
export class DeposedGroups {
  readonly #with: DeposedGroupsOptions
  #groups: Deposed[] = []

  constructor(options: DeposedGroupsOptions) {
    this.#with = options
  }

  /** Resolves, one for one, with what became of the groups. */
  add(spans: readonly EntrySpan[]): readonly Promise<GroupFate>[] {
    const untilMs = this.#with.monotonicMs() + FATE_MS_MAX
    return spans.map((span) => {
      const { promise, resolve: settle } = Promise.withResolvers<GroupFate>()
      this.#groups.push({ span, untilMs, settle })
      return promise
    })
  }

  /** Settles what is decided by now. */
  look(): void {
    if (this.#groups.length === 0) return
    const nowMs = this.#with.monotonicMs()
    this.#groups = this.#groups.filter(({ span, untilMs, settle }) => {
      const fate = this.#with.fateOf(span)
      if (fate === 'open' && nowMs < untilMs) return true
      settle(fate === 'open' ? 'unknown' : fate)
      return false
    })
  }

  /** Settles all groups as unknown: this replica will not hear of a successor. */
  giveUp(): void {
    for (const { settle } of this.#groups.splice(0)) settle('unknown')
  }
}
