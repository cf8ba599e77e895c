import { ServiceError } from '../../../lib/errors.ts'
import { runInTurn, type Sliced } from '../../../lib/sliced.ts'
import type { SearchLimits } from '../../index/host/search-limits.ts'
import type {
  IndexAnswer,
  IndexRequest,
  QueryableKind,
  QuestionOf,
} from '../../index/kinds/index-questions.ts'
import { isAnswerTo } from '../../index/kinds/index-request.ts'
import type { IndexPosition, PlacedAnswer, ShardSearchLimits } from '../following/index-position.ts'
import type { AnswerStream } from './answer-stream.ts'
import { writeSearchFrom, writeSearchHere } from './replica-calls.ts'
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

/** A question to the index of the replica that is asked, from a position on. */
interface PlacedQuestion<Asked> extends AskedIndex<Asked> {
  readonly from: IndexPosition
}

/** How a question goes over the wire, and what it asks. */
interface WrittenQuestion<Asked> extends AskedIndex<Asked> {
  readonly operation: number
  readonly write: (out: WireWriter) => Sliced<void>
}

/** Asks an index of the shard. Request and answer are written and read in slices. */
export function remoteSearch<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
  asker: ShardAsker,
  { atLeast, ...asked }: RemoteQuestion<IndexRequest<Kind, Name>>,
  limits: ShardSearchLimits,
): Promise<IndexAnswer<Kind, Name>> {
  const question =
    atLeast === undefined
      ? { operation: OPERATIONS.search, write: (out: WireWriter) => writeAsked(out, asked) }
      : {
          operation: OPERATIONS.searchHere,
          write: (out: WireWriter) => writeSearchHere(out, { ...asked, atLeast }),
        }
  return answerTo({ asker, question: { ...asked, ...question }, limits }, readNumber).then(
    ({ answer, head: behind }) => {
      if (behind > 0) limits.onBehind?.(behind)
      return answer
    },
  )
}

/** As `remoteSearch`, with what the head of the answer says. */
export function remoteSearchFrom<Kind extends QueryableKind, Name extends QuestionOf<Kind>>(
  asker: ShardAsker,
  { from, ...asked }: PlacedQuestion<IndexRequest<Kind, Name>>,
  limits: SearchLimits,
): Promise<PlacedAnswer<IndexAnswer<Kind, Name>>> {
  const write = (out: WireWriter): Sliced<void> => writeSearchFrom(out, { ...asked, from })
  const question = { ...asked, operation: OPERATIONS.searchFrom, write }
  return answerTo({ asker, question, limits }, readNumber).then(({ answer, head }) => ({
    answer,
    shownThrough: head,
  }))
}

function readNumber({ head }: AnswerStream): number {
  return head.amount()
}

interface Asking<Asked> {
  readonly asker: ShardAsker
  readonly question: WrittenQuestion<Asked>
  readonly limits: SearchLimits
}

async function answerTo<Kind extends QueryableKind, Name extends QuestionOf<Kind>, Head>(
  { asker, question, limits }: Asking<IndexRequest<Kind, Name>>,
  readHead: (arriving: AnswerStream) => Head,
): Promise<{ readonly answer: IndexAnswer<Kind, Name>; readonly head: Head }> {
  const { clock } = asker
  const { index, asked, operation } = question
  const { signal, deadlineMs } = limits
  const argument = new WireWriter()
  await runInTurn(question.write(argument), { clock, signal })
  const sent = { operation, argument, options: { signal } } as const
  const { head, answer } = await asker.stream(
    sent,
    async (arriving) => {
      const said = arriving.reading(() => readHead(arriving))
      const bytes = new WireReader(await arriving.joined(SEARCH_ANSWER_BYTES_MAX))
      const read = await arriving.readingSliced(readIndexAnswer(bytes), { clock, signal })
      return { head: said, answer: read }
    },
    { signal, deadlineMs },
  )
  if (isAnswerTo(asked, answer)) return { head, answer }
  throw new ServiceError('INTERNAL', `no answer from the index "${index}"`)
}
