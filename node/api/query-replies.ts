// The bodies of queries, one or several, and their answers in the same order.
//
// Several are asked one after the other, each when the answers before it have left: a client that
// does not read holds one answer, however many it asked for.

import type { Clock } from '../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { statusByErrorCode } from '../../lib/http/error-status.ts'
import type { ErrorBody } from '../../lib/http/error-translator.ts'
import type { Reply } from '../../door/replies.ts'
import type { HeldMemory } from '../../lib/http/request-memory.ts'
import { parsedBytesOf } from '../../lib/http/json-memory.ts'
import { AT_ONCE_BYTES_MAX } from '../../lib/http/request-body.ts'
import { runAtOnce, runInTurn, runSliced } from '../../lib/sliced.ts'
import type { QueryResult } from '../search/run/query-result.ts'
import { parseSentInParts } from '../document/exact-json-parts.ts'
import { parseQueryText } from '../query/request/parse-query-text.ts'
import { parseQueryRequest, type QueryRequest } from '../query/request/query-request.ts'
import { JsonPieces, writeJson } from './json-pieces.ts'
import { isStale } from './consistency.ts'
import type { OperationRequest } from '../../door/operation.ts'
import type { ApiContext } from './operation.ts'
import { splitQueries } from './query-lines.ts'
import { writeQueryResult } from './query-answer.ts'
import { paced, piecesReply } from './sliced-reply.ts'
import { checkTableName } from './table-name.ts'

type FailedQuery = ErrorBody & { readonly status: number }
type Ask = (text: Buffer) => Promise<QueryResult>

const OPENING = '{"responses":['
const CLOSING = ']}'

/** `path` is the table in the path; undefined if the queries name their tables. */
export async function answerQueries(
  { body, query, signal, memory }: Pick<OperationRequest, 'body' | 'query' | 'signal' | 'memory'>,
  { service, clock }: Pick<ApiContext, 'service' | 'clock'>,
  path: string | undefined,
): Promise<Reply> {
  const split = splitQueries(body)
  const texts =
    body.length <= AT_ONCE_BYTES_MAX ? runAtOnce(split) : await runSliced(split, { clock, signal })
  const ask: Ask = async (text) => {
    const measured = runInTurn(parsedBytesOf(text), { clock, signal })
    memory.add(measured instanceof Promise ? await measured : measured)
    const value =
      text.length <= AT_ONCE_BYTES_MAX
        ? parseQueryText(text)
        : await runSliced(parseSentInParts(text), { clock, signal })
    const request = parseQueryRequest(value)
    const options = { signal, memory, isStale: isStale({ query }) }
    return service.query(chooseTable(request, path), request, options)
  }
  const [single] = texts
  const pieces = new JsonPieces()
  const steps =
    texts.length === 1 && single !== undefined
      ? answerOne(await ask(single), { pieces, clock })
      : answerAll(texts, ask, { pieces, clock, signal, memory })
  return piecesReply(pieces, steps)
}

interface Writing {
  readonly pieces: JsonPieces
  readonly clock: Clock
}

async function* answerOne(
  result: QueryResult,
  { pieces, clock }: Writing,
): AsyncGenerator<undefined> {
  pieces.text(OPENING)
  yield* paced(writeQueryResult(result, pieces), clock)
  pieces.text(CLOSING)
}

async function* answerAll(
  texts: readonly Buffer[],
  ask: Ask,
  writing: Writing & { readonly signal: AbortSignal; readonly memory: HeldMemory },
): AsyncGenerator<undefined> {
  const { pieces, clock, signal, memory } = writing
  let separator = OPENING
  for (const text of texts) {
    const heldBefore = memory.bytes
    const outcome = await failureAsValue(() => ask(text), signal)
    pieces.text(separator)
    separator = ','
    const written =
      'hits' in outcome ? writeQueryResult(outcome, pieces) : writeJson(outcome, pieces)
    yield* paced(written, clock)
    // The next query is asked when the pages of this answer have left.
    yield
    memory.release(memory.bytes - heldBefore)
  }
  pieces.text(CLOSING)
}

/** If one of several queries fails, the others still have their answers. */
async function failureAsValue(
  act: () => Promise<QueryResult>,
  signal: AbortSignal,
): Promise<QueryResult | FailedQuery> {
  try {
    return await act()
  } catch (error) {
    if (!isServiceError(error) || signal.aborted) throw error
    return { status: statusByErrorCode[error.code], error: error.message, code: error.code }
  }
}

function chooseTable({ table }: QueryRequest, path: string | undefined): string {
  if (path === undefined) {
    if (table === undefined) throw new ServiceError('INVALID_ARGUMENT', 'table is missing: name it')
    checkTableName(table, 'table')
    return table
  }
  if (table === undefined || table === path) return path
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `table: the path names ${path} and the body another table; leave it out of the body`,
  )
}
