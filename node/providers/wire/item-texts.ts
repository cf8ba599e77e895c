// Items for models that take one text or one image at a time.

import { must } from '../../../lib/assert.ts'
import type { EmbedPart } from '../contract/provider.ts'
import type { EmbedItem } from '../embedding/embed-protocol.ts'

/** The texts of an item as one, each on its own lines. */
export function textOf(item: EmbedItem): string {
  return item.flatMap((part) => (part.kind === 'text' ? [part.text] : [])).join('\n')
}

/** The texts of an item as one part, where they have any, and its images. */
export function joinedParts(item: EmbedItem): readonly EmbedPart[] {
  const text = textOf(item)
  const images = item.filter(({ kind }) => kind === 'image')
  return text === '' && images.length > 0 ? images : [{ kind: 'text', text }, ...images]
}

/**
 * The vector of an item whose parts were embedded one by one into one space: the mean of their directions,
 * of length 1. A single part's vector is left as it is.
 */
export function meanDirection(parts: readonly Float32Array[]): Float32Array {
  const [first] = parts
  if (parts.length <= 1) return must(first, 'a vector of an item')
  const sums = new Float64Array(first?.length ?? 0)
  for (const part of parts) {
    const length = Math.hypot(...part)
    const scale = length === 0 ? 0 : 1 / length
    for (let at = 0; at < sums.length; at += 1) {
      sums[at] = (sums[at] ?? 0) + (part[at] ?? Number.NaN) * scale
    }
  }
  const length = Math.hypot(...sums)
  return Float32Array.from(sums, (sum) => (length === 0 ? 0 : sum / length))
}

/** The media type and the base64 of a data URI. Undefined for another form. */
export function dataUriParts(
  uri: string,
): { readonly mediaType: string; readonly base64: string } | undefined {
  const comma = uri.indexOf(',')
  const found = /^data:([a-z0-9.+-]+\/[a-z0-9.+-]+)[^,]*;base64$/i.exec(uri.slice(0, comma))
  const mediaType = found?.[1]
  return mediaType === undefined ? undefined : { mediaType, base64: uri.slice(comma + 1) }
}
