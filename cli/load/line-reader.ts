// Cuts bytes into lines without decoding them.

import { DOCUMENT_BYTES_MAX } from './raw-document.ts'
import type { RawDocument } from './raw-document.ts'

const LINE_FEED = 0x0a
const CARRIAGE_RETURN = 0x0d
const TOO_LONG = 'the line is longer than 64 MiB, the most that one request may hold'

/** Collects the pieces of one line, and drops them when the line becomes too long. */
class LineParts {
  #parts: Buffer[] = []
  #length = 0
  #line = 0

  get isEmpty(): boolean {
    return this.#length === 0
  }

  add(part: Buffer): void {
    this.#length += part.length
    if (this.#length > DOCUMENT_BYTES_MAX) this.#parts = []
    else this.#parts.push(part)
  }

  take(): RawDocument {
    const isTooLong = this.#length > DOCUMENT_BYTES_MAX
    const [first] = this.#parts
    const joined = this.#parts.length === 1 && first ? first : Buffer.concat(this.#parts)
    this.#parts = []
    this.#length = 0
    this.#line += 1
    const line = { line: this.#line, bytes: withoutReturn(joined) }
    return isTooLong ? { ...line, problem: TOO_LONG } : line
  }
}

/** The lines without their ends. A line longer than DOCUMENT_BYTES_MAX is reported without its bytes. */
export async function* readLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<RawDocument> {
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

function withoutReturn(line: Buffer): Buffer {
  return line.at(-1) === CARRIAGE_RETURN ? line.subarray(0, -1) : line
}
