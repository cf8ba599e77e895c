// Writes messages in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding).

const VARINT = 0
const LENGTH_DELIMITED = 2
const WIRE_TYPE_BITS = 3n
const PAYLOAD_BITS = 7n
const PAYLOAD_MASK = 0x7fn
const CONTINUES = 0x80

/** The fields of one message, in the order of the calls. */
export class ProtoWriter {
  readonly #parts: Uint8Array[] = []

  /** An int64, an enumeration or, as 0 or 1, a bool. Only values from 0 on are needed here. */
  integer(field: number, value: number | bigint): this {
    this.#parts.push(varint(tag(field, VARINT)), varint(BigInt(value)))
    return this
  }

  bytes(field: number, value: Uint8Array): this {
    const length = varint(BigInt(value.length))
    this.#parts.push(varint(tag(field, LENGTH_DELIMITED)), length, value)
    return this
  }

  text(field: number, value: string): this {
    return this.bytes(field, Buffer.from(value))
  }

  message(field: number, value: ProtoWriter): this {
    return this.bytes(field, value.finish())
  }

  finish(): Buffer {
    return Buffer.concat(this.#parts)
  }
}

function tag(field: number, wireType: number): bigint {
  return (BigInt(field) << WIRE_TYPE_BITS) | BigInt(wireType)
}

function varint(value: bigint): Buffer {
  const bytes: number[] = []
  let rest = value
  while (rest > PAYLOAD_MASK) {
    bytes.push(Number(rest & PAYLOAD_MASK) | CONTINUES)
    rest >>= PAYLOAD_BITS
  }
  bytes.push(Number(rest))
  return Buffer.from(bytes)
}
