import { DOCUMENT_BYTES_MAX } from '../../document/document-limits.ts'
import type { DocumentRecord } from '../format/document-record.ts'
import type { CallOptions } from '../shard.ts'
import { OPERATIONS } from './shard-calls.ts'
import type { ShardAsker } from './shard-asker.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** A record has a header of some bytes beside its document. */
const RECORD_BYTES_MAX = DOCUMENT_BYTES_MAX + 1024

/** Reads a record in parts: one that an answer to `read` was too short for. */
export function readLong(
  asker: ShardAsker,
  key: Buffer,
  options: CallOptions | undefined,
): Promise<DocumentRecord | undefined> {
  const question = {
    operation: OPERATIONS.readLong,
    argument: new WireWriter().key(key),
    options: { lane: 'bulk', signal: options?.signal },
  } as const
  return asker.stream(question, async (answer) => {
    const isPresent = answer.reading(() => answer.head.boolean())
    const record = await answer.joined(RECORD_BYTES_MAX)
    return isPresent ? record : undefined
  })
}
