// Tokens of texts in their places between the special ones.

import type { LayoutPart } from './special-layout.ts'

export interface Encoding {
  readonly ids: readonly number[]
  /** Of each token: 0, or 1 for the second text of a pair. */
  readonly typeIds: readonly number[]
  /** The text had more tokens than were kept. */
  readonly truncated: boolean
}

/** The tokens of both texts. */
interface Contents {
  readonly first: readonly number[]
  readonly second: readonly number[]
}

/** Truncation takes from the end of the second text first, and never a special token. */
export function fit(
  layout: readonly LayoutPart[],
  contents: Contents,
  tokensMax: number,
): Encoding {
  const specials = layout.filter(({ kind }) => kind === 'special').length
  const room = Math.max(0, tokensMax - specials)
  const first = contents.first.slice(0, room)
  const second = contents.second.slice(0, room - first.length)
  const ids: number[] = []
  const typeIds: number[] = []
  for (const part of layout) {
    const added = part.kind === 'special' ? [part.id] : part.of === 'first' ? first : second
    for (const id of added) {
      ids.push(id)
      typeIds.push(part.typeId)
    }
  }
  const kept = first.length + second.length
  return { ids, typeIds, truncated: kept < contents.first.length + contents.second.length }
}

/** What each token of the text has, spread over the encoding; special tokens get `filler`. */
export function spread<T>(
  layout: readonly LayoutPart[],
  { ids }: Encoding,
  values: readonly T[],
  filler: T,
): T[] {
  const specials = layout.filter(({ kind }) => kind === 'special').length
  return layout.flatMap((part) =>
    part.kind === 'special' ? [filler] : values.slice(0, ids.length - specials),
  )
}
