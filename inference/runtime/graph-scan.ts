import { open } from 'node:fs/promises'

/**
 * Operators that scale their input by its largest number: over the whole tensor, so that what a row
 * becomes depends on the rows beside it.
 */
const MARK = Buffer.from('DynamicQuantize')
const PIECE_BYTES = 1024 * 1024

/**
 * Whether a graph quantizes activations while it runs. The operators' names stand in the file as
 * they are; a file in which the name stands for something else is taken for one that does.
 */
export async function quantizesWhileRunning(file: string): Promise<boolean> {
  await using handle = await open(file)
  const piece = Buffer.allocUnsafe(PIECE_BYTES + MARK.length)
  for (let from = 0; ; from += PIECE_BYTES) {
    // Pieces overlap by the length of a name, which may be cut otherwise.
    const { bytesRead } = await handle.read(piece, 0, piece.length, from)
    if (piece.subarray(0, bytesRead).includes(MARK)) return true
    if (bytesRead < piece.length) return false
  }
}
