// Reads messages in the wire format of Protocol Buffers.

import { BinaryReader, WireType } from '@bufbuild/protobuf/wire'
import { ServiceError } from '../errors.ts'

/**
 * The fields of a message by their numbers. A field that is absent reads as its type's zero, as the
 * format says. Bytes are views into the message. Throws CORRUPTION for bytes that are not a message.
 */
export class ProtoMessage {
  readonly #fields = new Map<number, (bigint | Buffer)[]>()

  constructor(encoded: Buffer) {
    try {
      this.#read(new BinaryReader(encoded))
    } catch (cause) {
      malformed(cause)
    }
  }

  #read(reader: BinaryReader): void {
    while (reader.pos < reader.len) {
      const [field, type] = reader.tag()
      const value = valueOf(reader, type)
      if (value === undefined) continue
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

/** Undefined for a value of a type that etcd's messages do not have. */
function valueOf(reader: BinaryReader, type: WireType): bigint | Buffer | undefined {
  if (type === WireType.Varint) return BigInt(reader.uint64())
  if (type === WireType.LengthDelimited) {
    const { buffer, byteOffset, length } = reader.bytes()
    return Buffer.from(buffer, byteOffset, length)
  }
  reader.skip(type)
  return undefined
}

function malformed(cause?: unknown): never {
  throw new ServiceError('CORRUPTION', 'etcd has sent bytes that are not a message', { cause })
}
