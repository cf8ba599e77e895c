import type { ByteBuffer } from './byte-buffer.ts'

const ROOM_FIRST = 256
/** UTF-8 needs at most three bytes for a UTF-16 unit. */
const BYTES_PER_UNIT_MAX = 3
const ASCII_END = 0x80
/** A longer text is sooner encoded by Node, which costs the same for each short one. */
const ENCODED_SINGLY_MAX = 32
/** Fewer bytes are copied sooner one by one than by way of a view. */
const COPIED_SINGLY_MAX = 48

/** The bytes of one text after the other, in room that is kept. */
export class TextBytes {
  #bytes = Buffer.alloc(ROOM_FIRST)
  #length = 0

  /** Encodes the text in place of the one before. Answers the number of bytes. */
  write(text: string, encoding: 'utf8' | 'latin1'): number {
    const most = text.length * BYTES_PER_UNIT_MAX
    if (most > this.#bytes.length) this.#bytes = Buffer.alloc(most * 2)
    const isDone = text.length <= ENCODED_SINGLY_MAX && this.#writeAscii(text)
    this.#length = isDone ? text.length : this.#bytes.write(text, encoding)
    return this.#length
  }

  /** The byte at a place; -1 behind the last. */
  at(place: number): number {
    return place < this.#length ? (this.#bytes[place] ?? 0) : -1
  }

  /** How many bytes two texts have in common at their begin. */
  sharedWith(other: TextBytes): number {
    const most = Math.min(this.#length, other.#length)
    const [own, others] = [this.#bytes, other.#bytes]
    let shared = 0
    while (shared < most && own[shared] === others[shared]) shared += 1
    return shared
  }

  /** Valid until the next text. */
  view(): Uint8Array {
    return this.#bytes.subarray(0, this.#length)
  }

  /** Appends the bytes behind the first `from`. */
  appendTo(out: ByteBuffer, from: number): void {
    const count = this.#length - from
    if (count > COPIED_SINGLY_MAX) {
      out.write(this.#bytes.subarray(from, this.#length))
      return
    }
    const at = out.reserve(count)
    for (let i = 0; i < count; i += 1) out.bytes[at + i] = this.#bytes[from + i] ?? 0
    out.length += count
  }

  /** False if the text is not in ASCII. */
  #writeAscii(text: string): boolean {
    const bytes = this.#bytes
    for (let i = 0; i < text.length; i += 1) {
      const unit = text.charCodeAt(i)
      if (unit >= ASCII_END) return false
      bytes[i] = unit
    }
    return true
  }
}
