import type { Coordination } from '../../../node/coordination/coordination.ts'

/** Every value that a key has had, as a watch shows it. */
export class CoordinationRecorder implements AsyncDisposable {
  readonly values: string[] = []
  readonly revisions: number[] = []
  readonly #stop = new AbortController()
  readonly #watching: Promise<void>
  compacted = 0

  /** Records the keys under `prefix` from `fromRevision` on. */
  constructor(store: Coordination, prefix: string, fromRevision: number) {
    this.#watching = this.#watch(store, prefix, fromRevision)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort()
    await this.#watching
  }

  async #watch(store: Coordination, prefix: string, fromRevision: number): Promise<void> {
    for await (const event of store.watch(prefix, fromRevision, this.#stop.signal)) {
      if (event.kind === 'compacted') this.compacted += 1
      if (event.kind !== 'put') continue
      this.values.push(event.entry.value.toString())
      this.revisions.push(event.entry.modRevision)
    }
  }
}
