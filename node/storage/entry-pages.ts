import type { KvEntry } from './kv-store.ts'

const PAGE_BYTES = 256 * 1024
const PAGE_ENTRIES_MAX = 1000

/** Groups entries into pages. Copies them, because the reader owns what it receives. */
export async function* pagesOf(
  entries: Iterable<KvEntry>,
  assertReadable: () => void,
  pageEntriesMax = PAGE_ENTRIES_MAX,
): AsyncGenerator<readonly KvEntry[], void> {
  let page: KvEntry[] = []
  let bytes = 0
  assertReadable()
  for (const [key, value] of entries) {
    page.push([Buffer.from(key), Buffer.from(value)])
    bytes += key.length + value.length
    if (bytes < PAGE_BYTES && page.length < pageEntriesMax) continue
    yield page
    assertReadable()
    page = []
    bytes = 0
  }
  if (page.length > 0) yield page
}
