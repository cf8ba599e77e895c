import type { DocumentRecord } from '../format/document-record.ts'
import type { CallOptions } from '../shard.ts'
import { RECORD_BYTES_MAX } from './replica-calls.ts'
import { OPERATIONS } from './shard-calls.ts'
import type { ShardAsker } from './shard-asker.ts'
import { WireWriter } from './wire/wire-writer.ts'

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
