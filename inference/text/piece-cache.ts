// The tokens of pieces that were met lately. Most words of a text are among a few thousand that come again and
// again, and looking one up costs a tenth of finding its tokens.
//
// Invariant:
//   PC1  It holds at most `2 × PIECES_MAX` pieces of at most `CHARS_MAX` characters each.

/** Words. A longer piece is seldom met twice. */
const CHARS_MAX = 32
/** About two megabytes of words with their tokens. */
const PIECES_MAX = 8192

/** A cache of what is a function of the piece alone. */
export class PieceCache {
  /** Pieces that were met since the last change of generations, and before it. */
  #young = new Map<string, readonly number[]>()
  #old: ReadonlyMap<string, readonly number[]> = new Map()

  /** The tokens of a piece; `encode` finds them the first time. */
  idsOf(piece: string, encode: (piece: string) => readonly number[]): readonly number[] {
    if (piece.length > CHARS_MAX) return encode(piece)
    const known = this.#young.get(piece)
    if (known !== undefined) return known
    const ids = this.#old.get(piece) ?? encode(piece)
    if (this.#young.size >= PIECES_MAX) {
      this.#old = this.#young
      this.#young = new Map()
    }
    this.#young.set(piece, ids)
    return ids
  }
}
