// The bodies of queries, one or several, and their answers in the same order.

import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { parseExact, type JsonValue } from '../document/exact-json.ts'
import { parseQueryRequest, type QueryRequest } from '../query/query-request.ts'
import type { QueryResult } from '../coordinator/query/query-result.ts'
import type { StoreService } from '../coordinator/store-service.ts'
import { statusByErrorCode, type ErrorBody } from '../../lib/http/error-translator.ts'
import type { OperationRequest } from './operation.ts'
import { jsonReply, type BytesReply } from '../../lib/http/reply.ts'
import { checkTableName } from './table-name.ts'

export const QUERIES_PER_REQUEST_MAX = 100

type FailedQuery = ErrorBody & { readonly status: number }

/** `path` is the table that the path names, if it does. */
export async function answerQueries(
  { body, signal }: Pick<OperationRequest, 'body' | 'signal'>,
  service: StoreService,
  path: string | undefined,
): Promise<BytesReply> {
  const texts = splitQueries(body)
  const ask = async (value: JsonValue): Promise<QueryResult> => {
    const request = parseQueryRequest(value)
    return service.query(chooseTable(request, path), request, signal)
  }
  const [single] = texts
  if (texts.length === 1 && single !== undefined) {
    return jsonReply(200, { responses: [await ask(parseExact(single))] })
  }
  const responses: (QueryResult | FailedQuery)[] = []
  for (const text of texts) {
    responses.push(await failureAsValue(async () => ask(parseExact(text)), signal))
  }
  return jsonReply(200, { responses })
}

/** One of several that fails leaves the others their answers. */
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

/** Lines are queries of their own if the first of them is a whole one. */
function splitQueries(body: Buffer): readonly string[] {
  const text = body.toString()
  const lines = text.split('\n').filter((line) => line.trim() !== '')
  const [first] = lines
  if (first === undefined) {
    throw new ServiceError('INVALID_ARGUMENT', 'the body is empty; send a query, such as {}')
  }
  if (lines.length === 1 || !isJson(first)) return [text]
  if (lines.length <= QUERIES_PER_REQUEST_MAX) return lines
  throw new ServiceError(
    'INVALID_ARGUMENT',
    `the body has more than ${QUERIES_PER_REQUEST_MAX} queries; send them in parts`,
  )
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
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
