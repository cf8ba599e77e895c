// What clients asked for and what they were told, in the one order in which a test saw it.
//
//   invoke ──► ok(answer)   the operation took effect between the two
//          ──► fail()       it did not take effect and never will
//          ──► unknown()    it may have taken effect, or may do so at any later time
//
// The checkers beside this file take the operations. An operation that has not ended counts as unknown.

/** How an operation ended, as its client was told. */
export type Ending<Answer> =
  | { readonly kind: 'ok'; readonly answer: Answer }
  /** `reason` is for people who read the history. */
  | { readonly kind: 'fail'; readonly reason?: string }
  | { readonly kind: 'unknown' }

/** One operation of one client. */
export interface Operation<Call, Answer> {
  readonly client: string
  readonly call: Call
  /** Its place in the order of all beginnings and ends of the history. */
  readonly invokedAt: number
  /** Infinity: it may still take effect. */
  readonly endedAt: number
  readonly ending: Ending<Answer>
}

/** An operation that has begun. Exactly one of the methods is to be called, once. */
export interface OpenOperation<Answer> {
  ok(answer: Answer): void
  fail(reason?: string): void
  unknown(): void
}

/** A rule that a history breaks, in a sentence that names the operations. */
export interface Violation {
  readonly rule: string
  readonly description: string
}

/** Records the operations of all clients of a test. */
export class ClientHistory<Call, Answer> {
  readonly #operations: Operation<Call, Answer>[] = []
  #now = 0

  /** In the order of their beginnings. */
  get operations(): readonly Operation<Call, Answer>[] {
    return this.#operations
  }

  /** Call it before anything is sent. */
  invoke(client: string, call: Call): OpenOperation<Answer> {
    const at = this.#operations.length
    const begun = { client, call, invokedAt: this.#now++ }
    this.#operations.push({ ...begun, endedAt: Infinity, ending: { kind: 'unknown' } })
    const end = (ending: Ending<Answer>): void => {
      const endedAt = ending.kind === 'unknown' ? Infinity : this.#now++
      this.#operations[at] = { ...begun, endedAt, ending }
    }
    return {
      ok: (answer) => end({ kind: 'ok', answer }),
      fail: (reason) => end({ kind: 'fail', ...(reason === undefined ? {} : { reason }) }),
      unknown: () => end({ kind: 'unknown' }),
    }
  }
}
