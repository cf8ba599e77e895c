import type { EmbedItem } from './embed-item.ts'

/**
 * The inputs of one request that are read concurrently, because an image may have to be downloaded.
 */
const READ_AT_ONCE_MAX = 4
/** A request that holds more bytes of images runs them before it reads others. */
export const IMAGE_BYTES_HELD_MAX = 64 * 1024 * 1024

/**
 * The items of a request in order: as one group, or as several if their images are too large for
 * one.
 */
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

/** The bytes of all images among the items. */
export function imageBytes(items: readonly EmbedItem[]): number {
  return items.reduce((sum, item) => sum + (item.kind === 'image' ? item.bytes.length : 0), 0)
}
