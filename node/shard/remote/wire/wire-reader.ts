import { isUtf8 } from 'node:buffer'
import { ServiceError } from '../../../../lib/errors.ts'
import { ByteReader } from '../../format/byte-codec.ts'

/** Reads what WireWriter wrote. Throws CORRUPTION for bytes that no WireWriter writes. */
export class WireReader extends ByteReader {
  constructor(bytes: Buffer) {
    super(bytes, 'message of a shard')
  }

  boolean(): boolean {
    return this.oneOf([0, 1]) === 1
  }

  /** A byte that must be one of these. */
  oneOf<Byte extends number>(known: readonly Byte[]): Byte {
    const found = this.u8()
    for (const byte of known) if (byte === found) return byte
    throw malformed(`the byte ${found}`)
  }

  number(): number {
    return this.raw(8).readDoubleBE()
  }

  /** A number that is not negative, up to 2^53. */
  amount(): number {
    const found = this.number()
    if (found >= 0 && found <= Number.MAX_SAFE_INTEGER) return found
    throw malformed(`the amount ${found}`)
  }

  key(): Buffer {
    return this.shortBytes()
  }

  bytes(): Buffer {
    return this.raw(this.u32())
  }

  text(): string {
    const bytes = this.bytes()
    if (!isUtf8(bytes)) throw malformed('a text that is not UTF-8')
    return bytes.toString()
  }

  /** The message must end here: both sides speak the version of their connection. */
  end(): void {
    const left = this.rest().length
    if (left > 0) throw malformed(`${left} bytes behind its end`)
  }
}

/** The refusal of bytes from another node. */
export function malformed(what: string): ServiceError {
  return new ServiceError('CORRUPTION', `message of a shard: ${what}`)
}
