import { unlessAborted } from '../../lib/unless-aborted.ts'

/**
 * The items until the signal aborts. Then it rejects with the reason of the signal at once, also while the next item
 * has not come, and leaves the source to its owner.
 */
export async function* untilStopped<Item>(
  items: AsyncIterable<Item>,
  stop: AbortSignal,
): AsyncGenerator<Item, void, undefined> {
  const iterator = items[Symbol.asyncIterator]()
  try {
    for (;;) {
      const next = await unlessAborted(iterator.next(), stop)
      if (next.done === true) return
      yield next.value
    }
  } finally {
    // A generator that waits for input ends when that comes or is closed, which nobody waits for.
    const ending = iterator.return?.()
    if (!stop.aborted) await ending
    else ending?.catch(() => undefined)
  }
}
