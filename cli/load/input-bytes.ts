// Reads the bytes of an input, counts them, and decompresses them.

import { createGunzip, createZstdDecompress } from 'node:zlib'
import type { Readable, Transform } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { messageOf } from '../../lib/errors.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'

/** A file or standard input. */
export interface Input {
  /** Called for the first read. An error of an earlier stream would have no listener. */
  readonly open: () => Readable
  /** Absent for standard input. */
  readonly path?: string
  /** The size; absent if it is not known. */
  readonly bytes?: number
}

interface Compression {
  readonly extension: string
  /** The first bytes, in hexadecimal (RFC 1952, 2.3.1; RFC 8878, 3.1.1). */
  readonly magic: string
  readonly createDecompressor: () => Transform
}

const COMPRESSIONS: readonly Compression[] = [
  { extension: '.gz', magic: '1f8b', createDecompressor: createGunzip },
  { extension: '.zst', magic: '28b52ffd', createDecompressor: createZstdDecompress },
]
const MAGIC_BYTES_MAX = 4

/** Reads one input once. */
export class InputBytes {
  readonly #input: Input
  /** The bytes read so far, before decompression. */
  bytesRead = 0

  constructor(input: Input) {
    this.#input = input
  }

  /** The bytes, decompressed if the name or the first bytes show a compressed input. */
  async *decoded(): AsyncGenerator<Buffer> {
    const path = this.#input.path ?? ''
    const { head, chunks } = await peek(this.#counted(), ({ length }) => length >= MAGIC_BYTES_MAX)
    const start = head.subarray(0, MAGIC_BYTES_MAX).toString('hex')
    const found = COMPRESSIONS.find(
      ({ extension, magic }) => path.endsWith(extension) || start.startsWith(magic),
    )
    yield* found === undefined ? chunks : this.#decompress(chunks, found.createDecompressor())
  }

  async *#counted(): AsyncGenerator<Buffer> {
    try {
      for await (const chunk of this.#input.open()) {
        const bytes = Buffer.from(chunk)
        this.bytesRead += bytes.length
        yield bytes
      }
    } catch (cause) {
      const message = `cannot read ${this.#name}: ${messageOf(cause)}`
      throw new CliError(EXIT.refused, 'FILE', message, { cause })
    }
  }

  async *#decompress(
    chunks: AsyncIterable<Buffer>,
    decompressor: Transform,
  ): AsyncGenerator<Buffer> {
    // The error reaches the reader through the iteration below; pipeline's own promise repeats it.
    const feeding = pipeline(chunks, decompressor).catch(() => {})
    try {
      yield* decompressor
    } catch (cause) {
      if (cause instanceof CliError) throw cause
      const remedy = 'check that it is complete and that its name has the right extension'
      const message = `cannot decompress ${this.#name}: ${remedy}`
      throw new CliError(EXIT.refused, 'FILE', message, { cause })
    } finally {
      decompressor.destroy()
      await feeding
    }
  }

  get #name(): string {
    return this.#input.path ?? 'standard input'
  }
}

/** The beginning of a stream, and the whole stream. */
export interface Peeked {
  readonly head: Buffer
  /** All bytes, including the head. */
  readonly chunks: AsyncIterable<Buffer>
}

/** Reads the beginning of a stream until `isEnough` or its end. */
export async function peek(
  chunks: AsyncIterable<Buffer>,
  isEnough: (head: Buffer) => boolean,
): Promise<Peeked> {
  const iterator = chunks[Symbol.asyncIterator]()
  let head: Buffer = Buffer.alloc(0)
  while (!isEnough(head)) {
    const { done, value } = await iterator.next()
    if (done === true) break
    head = head.length === 0 ? value : Buffer.concat([head, value])
  }
  return { head, chunks: rejoin(head, iterator) }
}

async function* rejoin(head: Buffer, rest: AsyncIterator<Buffer>): AsyncGenerator<Buffer> {
  try {
    if (head.length > 0) yield head
    for (;;) {
      const { done, value } = await rest.next()
      if (done === true) return
      yield value
    }
  } finally {
    await rest.return?.()
  }
}
