import { ServiceError } from '../../../lib/errors.ts'
import { ARGUMENT_BYTES_MAX, ARGUMENTS_BYTES_MAX, PART_BYTES } from './wire/call-limits.ts'
import { malformed } from './wire/wire-reader.ts'

/** The bytes of all parts as messages of PART_BYTES; the last one is shorter. */
export function* messagesOf(parts: readonly Uint8Array[]): Generator<Uint8Array> {
  let waiting: Uint8Array[] = []
  let bytes = 0
  for (const part of parts) {
    for (let at = 0; at < part.length;) {
      const piece = part.subarray(at, at + PART_BYTES - bytes)
      waiting.push(piece)
      at += piece.length
      bytes += piece.length
      if (bytes < PART_BYTES) continue
      yield joinedOf(waiting)
      waiting = []
      bytes = 0
    }
  }
  if (bytes > 0) yield joinedOf(waiting)
}

function joinedOf(pieces: readonly Uint8Array[]): Uint8Array {
  const [first] = pieces
  return pieces.length === 1 && first !== undefined ? first : Buffer.concat(pieces)
}

/** An argument that came in parts. Its memory counts until `release`. */
export interface LongArgument {
  readonly bytes: Buffer
  release(this: void): void
}

/** The memory of a node for arguments that come in parts. */
export class LongArguments {
  #held = 0

  /**
   * Gathers the parts of an argument of `length` bytes. Rejects with INVALID_ARGUMENT, or CORRUPTION if the
   * parts have another length, and with OVERLOADED if other arguments take the memory.
   */
  async gather(length: number, parts: AsyncIterable<Uint8Array>): Promise<LongArgument> {
    if (length > ARGUMENT_BYTES_MAX) {
      const message = `an argument of ${length} bytes; the maximum is ${ARGUMENT_BYTES_MAX}`
      throw new ServiceError('INVALID_ARGUMENT', message)
    }
    if (this.#held + length > ARGUMENTS_BYTES_MAX) {
      throw new ServiceError('OVERLOADED', 'the node holds too many long requests; try again')
    }
    this.#held += length
    const release = (): void => void (this.#held -= length)
    try {
      return { bytes: await gathered(length, parts), release }
    } catch (error) {
      release()
      throw error
    }
  }
}

async function gathered(length: number, parts: AsyncIterable<Uint8Array>): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length)
  let filled = 0
  for await (const part of parts) {
    if (filled + part.length > length) throw malformed(`more than ${length} bytes`)
    bytes.set(part, filled)
    filled += part.length
  }
  if (filled < length) throw malformed(`${filled} bytes in place of ${length}`)
  return bytes
}
