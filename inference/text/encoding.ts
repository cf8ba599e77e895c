// Puts the tokens of one or two texts between the special tokens of a layout.

import type { LayoutPart } from './special-layout.ts'

/** The tokens of an input, special ones included. `ids` and `typeIds` have one length. */
export interface Encoding {
  readonly ids: readonly number[]
  /** For each token: 0, or 1 in the second text of a pair. */
  readonly typeIds: readonly number[]
  /** True: tokens of a text were left out. */
  readonly truncated: boolean
}

/** The tokens of both texts; the second is empty for a single text. */
interface Contents {
  readonly first: readonly number[]
  readonly second: readonly number[]
}

/**
 * Lays out the tokens, at most `tokensMax` of them. Truncation removes tokens from the end of the longer text, until both
 * are as long as each other, and then of both (`longest_first`); never a special token. So neither text hides the other.
 */
export function fit(
  layout: readonly LayoutPart[],
  contents: Contents,
  tokensMax: number,
): Encoding {
  const specials = layout.filter(({ kind }) => kind === 'special').length
  const room = Math.max(0, tokensMax - specials)
  const kept = keptOf(contents, room)
  const first = contents.first.slice(0, kept.first)
  const second = contents.second.slice(0, kept.second)
  const ids: number[] = []
  const typeIds: number[] = []
  for (const part of layout) {
    const added = part.kind === 'special' ? [part.id] : part.of === 'first' ? first : second
    for (const id of added) {
      ids.push(id)
      typeIds.push(part.typeId)
    }
  }
  const all = contents.first.length + contents.second.length
  return { ids, typeIds, truncated: first.length + second.length < all }
}

/** How many tokens of each text there is room for. Of an odd number the longer text has the last. */
function keptOf(
  { first, second }: Contents,
  room: number,
): { readonly first: number; readonly second: number } {
  const shorter = Math.min(first.length, second.length, Math.floor(room / 2))
  if (first.length > second.length) return { first: room - shorter, second: shorter }
  return { first: shorter, second: room - shorter }
}

/** Spreads one value for each token of the text over an encoding. Special tokens get `filler`. */
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
