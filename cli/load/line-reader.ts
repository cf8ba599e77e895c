// Bytes to lines, without decoding: what is between two line feeds is passed on as it is.

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const BYTE_ORDER_MARK = Buffer.from([0xef, 0xbb, 0xbf])

/** The service takes no larger request, so no larger document can be loaded. */
export const LINE_BYTES_MAX = 64 * 1024 * 1024

export interface Line {
  /** Counted from 1. */
  readonly number: number
  /** Without its line end; empty when `tooLong`. */
  readonly bytes: Buffer
  /** The line is longer than LINE_BYTES_MAX: it was skipped, in bounded memory. */
  readonly tooLong: boolean
}

/** Collects the pieces of one line; forgets them once the line is too long to be of use. */
class LineParts {
  #parts: Buffer[] = []
  #length = 0
  #number = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  add(part: Buffer): void {
    this.#length += part.length
    if (this.#length > LINE_BYTES_MAX) this.#parts = []
    else this.#parts.push(part)
  }

  take(): Line {
    const tooLong = this.#length > LINE_BYTES_MAX
    const [first] = this.#parts
    const joined = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    this.#number += 1
    return { number: this.#number, bytes: trimLine(joined, this.#number), tooLong }
  }
}

export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<Line> {
  const parts = new LineParts()
  for await (const bytes of chunks) {
    const chunk = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
    let start = 0
    for (;;) {
      const end = chunk.indexOf(LINE_FEED, start)
      if (end === -1) break
      parts.add(chunk.subarray(start, end))
      yield parts.take()
      start = end + 1
    }
    if (start < chunk.length) parts.add(chunk.subarray(start))
  }
  if (!parts.isEmpty) yield parts.take()
}

function trimLine(line: Buffer, number: number): Buffer {
  const hasMark = number === 1 && line.subarray(0, 3).equals(BYTE_ORDER_MARK)
  const start = hasMark ? BYTE_ORDER_MARK.length : 0
  const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
  return line.subarray(start, Math.max(start, end))
}
