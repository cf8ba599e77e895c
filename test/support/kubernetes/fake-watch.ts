// One watch of a fake API server.

import type { Clock } from '../../../lib/clock.ts'
import { unlessAborted } from '../../../lib/unless-aborted.ts'
import type { WatchEvent, WatchRequest } from '../../../operator/runtime/api/kubernetes-api.ts'
import { isIn } from './fake-store.ts'
import type { FakeChange, FakeStore } from './fake-store.ts'

const BOOKMARK_MS = 60_000

/** How a watch ends or goes wrong. */
export type WatchEnd =
  { readonly kind: 'closed' } | { readonly kind: 'failed'; readonly error: Error }

export class FakeWatch {
  readonly #store: FakeStore
  readonly #request: WatchRequest
  readonly #undo: (() => void)[] = []
  #version: number
  #wake = Promise.withResolvers<void>()
  #end: WatchEnd | undefined
  #bookmarks = 0
  isStalled = false
  deliversTwice = false

  constructor(store: FakeStore, request: WatchRequest, clock: Clock) {
    this.#store = store
    this.#request = request
    this.#version = Number(request.resourceVersion)
    this.#store.changesAfter(this.#version) // refuses what is gone
    this.#undo.push(store.onChange(() => this.#wakeUp()))
    const end = (): void => this.end({ kind: 'closed' })
    this.#undo.push(clock.after(request.timeoutSeconds * 1000, end))
    const bookmark = (): void => {
      this.#bookmarks += 1
      this.#wakeUp()
      this.#undo.push(clock.after(BOOKMARK_MS, bookmark))
    }
    this.#undo.push(clock.after(BOOKMARK_MS, bookmark))
  }

  end(end: WatchEnd): void {
    this.#end ??= end
    this.#wakeUp()
  }

  async *events(signal: AbortSignal): AsyncGenerator<WatchEvent> {
    try {
      for (;;) {
        this.#wake = Promise.withResolvers()
        if (!this.isStalled) yield* this.#ready()
        if (this.#end?.kind === 'closed' && !this.isStalled) return
        if (this.#end?.kind === 'failed') throw this.#end.error
        await unlessAborted(this.#wake.promise, signal)
      }
    } finally {
      for (const undo of this.#undo) undo()
    }
  }

  *#ready(): Generator<WatchEvent> {
    for (const change of this.#store.changesAfter(this.#version)) {
      this.#version = change.version
      const event = eventOf(change, this.#request)
      if (event === undefined) continue
      yield event
      if (this.deliversTwice) yield event
    }
    if (this.#bookmarks > 0) {
      this.#bookmarks = 0
      this.#version = this.#store.version
      yield { type: 'bookmark', resourceVersion: String(this.#version) }
    }
  }

  #wakeUp(): void {
    this.#wake.resolve()
  }
}

/** What a watcher of a selection sees of a change: what leaves its selection is deleted for it. */
function eventOf(change: FakeChange, request: WatchRequest): WatchEvent | undefined {
  if (change.kind.plural !== request.kind.plural || change.kind.group !== request.kind.group) {
    return undefined
  }
  const was = change.previous !== undefined && isIn(request, change.previous)
  const is = !change.isDeletion && isIn(request, change.object)
  if (is) return { type: was ? 'modified' : 'added', object: change.object }
  return was ? { type: 'deleted', object: change.object } : undefined
}
