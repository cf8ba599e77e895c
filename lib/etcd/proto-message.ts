// Reads messages in the wire format of Protocol Buffers (protobuf.dev/programming-guides/encoding).

import { ServiceError } from '../errors.ts'

const WIRE_TYPE_BITS = 3n
const WIRE_TYPE_MASK = 7n
const PAYLOAD_BITS = 7n
const PAYLOAD_MASK = 0x7f
const CONTINUES = 0x80
/** A varint of 64 bits has at most ten bytes of seven bits. */
const VARINT_BYTES_MAX = 10
/** The lengths of the wire types that have a fixed one. */
const FIXED_BYTES: Readonly<Record<string, number>> = { '1': 8, '5': 4 }

/**
 * The fields of a message by their numbers. A field that is absent reads as its type's zero, as the
 * format says. Bytes are views into the message. Throws CORRUPTION for bytes that are not a message.
 */
export class ProtoMessage {
  readonly #fields = new Map<number, (bigint | Buffer)[]>()

  constructor(encoded: Buffer) {
    const reader = new FieldReader(encoded)
    while (!reader.isAtEnd()) {
      const { field, value } = reader.next()
      const values = this.#fields.get(field)
      if (values === undefined) this.#fields.set(field, [value])
      else values.push(value)
    }
  }

  bigint(field: number): bigint {
    const value = this.#fields.get(field)?.at(-1) ?? 0n
    return typeof value === 'bigint' ? value : malformed()
  }

  /** For numbers that stay below 2 ** 53, such as revisions. */
  number(field: number): number {
    return Number(this.bigint(field))
  }

  flag(field: number): boolean {
    return this.bigint(field) !== 0n
  }

  bytes(field: number): Buffer {
    const value = this.#fields.get(field)?.at(-1) ?? Buffer.alloc(0)
    return typeof value === 'bigint' ? malformed() : value
  }

  text(field: number): string {
    return this.bytes(field).toString()
  }

  /** All texts of a field that may stand several times. */
  texts(field: number): readonly string[] {
    const values = this.#fields.get(field) ?? []
    return values.map((value) => (typeof value === 'bigint' ? malformed() : value.toString()))
  }

  message(field: number): ProtoMessage {
    return new ProtoMessage(this.bytes(field))
  }

  messages(field: number): readonly ProtoMessage[] {
    const values = this.#fields.get(field) ?? []
    return values.map((value) => {
      return typeof value === 'bigint' ? malformed() : new ProtoMessage(value)
    })
  }
}

class FieldReader {
  readonly #encoded: Buffer
  #at = 0

  constructor(encoded: Buffer) {
    this.#encoded = encoded
  }

  isAtEnd(): boolean {
    return this.#at >= this.#encoded.length
  }

  next(): { readonly field: number; readonly value: bigint | Buffer } {
    const tag = this.#varint()
    const field = Number(tag >> WIRE_TYPE_BITS)
    const wireType = Number(tag & WIRE_TYPE_MASK)
    if (wireType === 0) return { field, value: this.#varint() }
    if (wireType === 2) return { field, value: this.#take(Number(this.#varint())) }
    const fixed = FIXED_BYTES[`${wireType}`]
    return fixed === undefined ? malformed() : { field, value: this.#take(fixed) }
  }

  #take(length: number): Buffer {
    const end = this.#at + length
    if (end > this.#encoded.length) return malformed()
    const taken = this.#encoded.subarray(this.#at, end)
    this.#at = end
    return taken
  }

  #varint(): bigint {
    let value = 0n
    for (let index = 0; index < VARINT_BYTES_MAX; index += 1) {
      const byte = this.#encoded[this.#at]
      if (byte === undefined) return malformed()
      this.#at += 1
      value |= BigInt(byte & PAYLOAD_MASK) << (BigInt(index) * PAYLOAD_BITS)
      if ((byte & CONTINUES) === 0) return BigInt.asUintN(64, value)
    }
    return malformed()
  }
}

function malformed(): never {
  throw new ServiceError('CORRUPTION', 'etcd has sent bytes that are not a message')
}
