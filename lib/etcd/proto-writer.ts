// Writes messages in the wire format of Protocol Buffers.

import { BinaryWriter, WireType } from '@bufbuild/protobuf/wire'

/** The fields of one message, in the order of the calls. */
export class ProtoWriter {
  readonly #writer = new BinaryWriter()
  #finished: Buffer | undefined

  /** An int64, an enumeration or, as 0 or 1, a bool. Only values from 0 on are needed here. */
  integer(field: number, value: number | bigint): this {
    this.#writer.tag(field, WireType.Varint).uint64(value)
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    this.#writer.tag(field, WireType.LengthDelimited).bytes(value)
    return this
  }

  text(field: number, value: string): this {
    this.#writer.tag(field, WireType.LengthDelimited).string(value)
    return this
  }

  message(field: number, value: ProtoWriter): this {
    return this.bytes(field, value.finish())
  }

  /** The message, which nothing is added to any more. */
  finish(): Buffer {
    this.#finished ??= bufferOf(this.#writer.finish())
    return this.#finished
  }
}

function bufferOf({ buffer, byteOffset, length }: Uint8Array): Buffer {
  return Buffer.from(buffer, byteOffset, length)
}
