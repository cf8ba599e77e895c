import { open } from 'node:fs/promises'

/**
 * These operators scale their input by the largest number of the whole tensor, so one row changes
 * the results of the rows beside it.
 */
const MARK = Buffer.from('DynamicQuantize')
const PIECE_BYTES = 1024 * 1024

/**
 * Whether a graph quantizes activations while it runs. The operators' names appear in the file as
 * plain bytes. A file that contains the name for another reason also answers true.
 */
export async function quantizesWhileRunning(file: string): Promise<boolean> {
  await using handle = await open(file)
  const piece = Buffer.allocUnsafe(PIECE_BYTES + MARK.length)
  for (let from = 0; ; from += PIECE_BYTES) {
    // Pieces overlap by the length of the name, so that a border cannot hide it.
    const { bytesRead } = await handle.read(piece, 0, piece.length, from)
    if (piece.subarray(0, bytesRead).includes(MARK)) return true
    if (bytesRead < piece.length) return false
  }
}
