import type { ArtifactsAsked, CallOptions, FoundArtifacts } from '../shard.ts'
import type { ShardAsker } from './shard-asker.ts'
import { OPERATIONS } from './shard-calls.ts'
import { readFoundArtifacts, writeArtifactsAsked } from './wire/artifacts-codec.ts'
import { ARTIFACTS_ANSWER_BYTES_MAX } from './wire/call-limits.ts'
import { WireReader } from './wire/wire-reader.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** Asks the leader for artifacts, which come in parts beside the lane of short calls. */
export function remoteArtifacts(
  asker: ShardAsker,
  asked: ArtifactsAsked,
  options: CallOptions | undefined,
): Promise<readonly FoundArtifacts[]> {
  const argument = new WireWriter()
  writeArtifactsAsked(argument, asked)
  const question = {
    operation: OPERATIONS.artifacts,
    argument,
    options: { lane: 'bulk', signal: options?.signal },
  } as const
  return asker.stream(question, async (answer) => {
    const bytes = new WireReader(await answer.joined(ARTIFACTS_ANSWER_BYTES_MAX))
    return answer.reading(() => readFoundArtifacts(bytes, asked))
  })
}
