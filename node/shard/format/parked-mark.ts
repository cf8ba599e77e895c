// The mark of a document whose artifact is parked. Described in docs/reference/formats/shard.md.

import { ServiceError } from '../../../lib/errors.ts'
import type { ParkedCause } from '../command/enrich-command.ts'
import { ByteReader } from './byte-codec.ts'

const FORMAT = 1
const CODE_BY_CAUSE: Readonly<Record<ParkedCause, number>> = { refused: 1, unreachable: 2 }

export function encodeParkedMark(cause: ParkedCause): Buffer {
  return Buffer.of(FORMAT, CODE_BY_CAUSE[cause])
}

export function decodeParkedMark(bytes: Buffer): ParkedCause {
  const code = new ByteReader(bytes, 'parked mark').format(FORMAT).u8()
  if (code === CODE_BY_CAUSE.refused) return 'refused'
  if (code === CODE_BY_CAUSE.unreachable) return 'unreachable'
  throw new ServiceError('CORRUPTION', `parked mark: unknown cause ${code}`)
}
