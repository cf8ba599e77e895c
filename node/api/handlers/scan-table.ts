import { at, parseDocumentKey } from '../../document/document-limits.ts'
import { parseExact } from '../../document/exact-json.ts'
import { isJsonObject, memberOf } from '../../document/json-object.ts'
import { parseProjection } from '../../document/projection.ts'
import { parseQuery } from '../../query/language/parse-query.ts'
import type { Query } from '../../query/query-tree.ts'
import type { ScanRequest } from '../../reads/scan-request.ts'
import { pagesReply } from '../../../door/page-stream.ts'
import { validatedBody } from '../../../door/operation.ts'
import { isStale, stalenessHeader } from '../consistency.ts'
import { tableOf } from '../operation.ts'
import type { OperationRequest } from '../../../door/operation.ts'
import type { Handler } from '../operation.ts'

const NDJSON = 'application/x-ndjson'

interface ScanBody {
  readonly from: string
  readonly to: string
  readonly inclusive_from: boolean
  readonly exclusive_to: boolean
  readonly fields: readonly string[]
  readonly envelope: boolean
  readonly limit: number
}

export const scanTable: Handler = async (request, { service }) => {
  const { signal, memory } = request
  const asked = [tableOf(request), parseScan(request), { signal, memory }] as const
  if (isStale(request)) {
    const { value, stalenessMs } = await service.scanStale(...asked)
    const headers = stalenessHeader(stalenessMs)
    return pagesReply({ contentType: NDJSON, pages: value, headers })
  }
  const pages = await service.scan(...asked)
  return pagesReply({ contentType: NDJSON, pages })
}

function parseScan(request: OperationRequest): ScanRequest {
  const body = validatedBody<ScanBody>(request)
  return {
    from: parseBound(body.from, 'from'),
    to: parseBound(body.to, 'to'),
    inclusiveFrom: body.inclusive_from ?? false,
    exclusiveTo: body.exclusive_to ?? false,
    projection: body.fields === undefined ? undefined : parseProjection(body.fields),
    inEnvelope: body.envelope ?? false,
    filter: parseFilter(request.body),
    limit: body.limit,
  }
}

/** No key is empty, so an empty bound means the same as an absent one. */
function parseBound(text: string | undefined, name: string): Buffer | undefined {
  if (text === undefined || text === '') return undefined
  return at(name, () => parseDocumentKey(text))
}

/** Read again from the bytes, so that a number of many digits is compared by all of them. */
function parseFilter(bytes: Buffer): Query | undefined {
  if (bytes.length === 0) return undefined
  const body = parseExact(bytes)
  const filter = isJsonObject(body) ? memberOf(body, 'filter_query') : undefined
  return filter === undefined ? undefined : parseQuery(filter, 'filter_query')
}
