import { ServiceError } from '../../../lib/errors.ts'
import { runInTurn } from '../../../lib/sliced.ts'
import type { SearchLimits } from '../../index/host/index-client.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import { isAnswerTo } from '../../index/kinds/index-request.ts'
import { writeSearchHere } from './replica-calls.ts'
import { OPERATIONS } from './shard-calls.ts'
import type { ShardAsker } from './shard-asker.ts'
import { SEARCH_ANSWER_BYTES_MAX } from './wire/call-limits.ts'
import { readIndexAnswer, writeAsked, type AskedIndex } from './wire/index-codec.ts'
import { WireReader } from './wire/wire-reader.ts'
import { WireWriter } from './wire/wire-writer.ts'

/** A question to the leader's index; with `atLeast` to that of the replica that is asked. */
interface RemoteQuestion<Asked> extends AskedIndex<Asked> {
  readonly atLeast?: number
}

/** Asks an index of the shard. Request and answer are written and read in slices. */
export async function remoteSearch<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
  asker: ShardAsker,
  { index, asked, atLeast }: RemoteQuestion<IndexRequest<Kind, Name>>,
  { signal, deadlineMs }: SearchLimits,
): Promise<IndexAnswer<Kind, Name>> {
  const { clock } = asker
  const argument = new WireWriter()
  const operation = atLeast === undefined ? OPERATIONS.search : OPERATIONS.searchHere
  const writing =
    atLeast === undefined
      ? writeAsked(argument, { index, asked })
      : writeSearchHere(argument, { index, asked, atLeast })
  await runInTurn(writing, { clock, signal })
  const question = { operation, argument, options: { signal } } as const
  const answer = await asker.stream(
    question,
    async (arriving) => {
      const bytes = new WireReader(await arriving.joined(SEARCH_ANSWER_BYTES_MAX))
      return arriving.readingSliced(readIndexAnswer(bytes), { clock, signal })
    },
    { signal, deadlineMs },
  )
  if (isAnswerTo(asked, answer)) return answer
  throw new ServiceError('INTERNAL', `no answer from the index "${index}"`)
}
