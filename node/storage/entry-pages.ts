import type { KvEntry } from './kv-store.ts'

const PAGE_BYTES = 256 * 1024
const PAGE_ENTRIES_MAX = 1000

/** Groups entries into pages. Copies them, because the reader owns what it receives. */
export async function* pagesOf(
  entries: Iterable<KvEntry>,
  assertReadable: () => void,
  pageEntriesMax = PAGE_ENTRIES_MAX,
): AsyncGenerator<readonly KvEntry[], void> {
  const gathered = new GatheredPage()
  assertReadable()
  for (const [key, value] of entries) {
    gathered.add([Buffer.from(key), Buffer.from(value)])
    if (gathered.bytes < PAGE_BYTES && gathered.length < pageEntriesMax) continue
    yield gathered.take()
    assertReadable()
  }
  if (gathered.length > 0) yield gathered.take()
}

/** A page while it is gathered. A page that was taken is held by its reader alone. */
class GatheredPage {
  bytes = 0
  #entries: KvEntry[] = []

  get length(): number {
    return this.#entries.length
  }

  add(entry: KvEntry): void {
    this.#entries.push(entry)
    this.bytes += entry[0].length + entry[1].length
  }

  take(): readonly KvEntry[] {
    const entries = this.#entries
    this.#entries = []
    this.bytes = 0
    return entries
  }
}
