import type { EmbedItem } from './embed-item.ts'

/** Parts of one request that are read at once: an image may have to be fetched. */
const READ_AT_ONCE_MAX = 4
/** When a request holds more than this of images, they are run before others are read. */
export const IMAGE_BYTES_HELD_MAX = 64 * 1024 * 1024

/** The items of a request in order: all together, unless their images are too large for that. */
export async function* readItemGroups<Part>(
  parts: readonly Part[],
  read: (part: Part) => Promise<EmbedItem>,
): AsyncGenerator<readonly EmbedItem[], void> {
  let group: EmbedItem[] = []
  let heldBytes = 0
  for (let start = 0; start < parts.length; start += READ_AT_ONCE_MAX) {
    const items = await Promise.all(parts.slice(start, start + READ_AT_ONCE_MAX).map(read))
    group.push(...items)
    heldBytes += imageBytes(items)
    if (heldBytes <= IMAGE_BYTES_HELD_MAX) continue
    yield group
    group = []
    heldBytes = 0
  }
  if (group.length > 0) yield group
}

/** What images of these hold. */
export function imageBytes(items: readonly EmbedItem[]): number {
  return items.reduce((sum, item) => sum + (item.kind === 'image' ? item.bytes.length : 0), 0)
}
