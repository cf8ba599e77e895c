import { parseDocumentKey, shownKey } from '../../document/document-limits.ts'
import { parseProjection, type Projection } from '../../document/projection.ts'
import { withSpecial } from '../../reads/special/special-reader.ts'
import { splitProjection } from '../../reads/special/special-selection.ts'
import { projectStored } from '../../reads/stored-projection.ts'
import type { StoredDocument } from '../../reads/table-reader.ts'
import { textParameter, type OperationRequest } from '../../../door/operation.ts'
import { isStale, stalenessHeader } from '../consistency.ts'
import { parsed, tableOf } from '../operation.ts'
import type { ApiContext, Handler } from '../operation.ts'
import { jsonBytesReply, jsonReply } from '../../../lib/http/reply.ts'
import type { BytesReply } from '../../../lib/http/reply.ts'

const ABSENT = '0'

/** Answers without a promise if the store does. */
export const lookupDocument: Handler = (request, context) => {
  const fields = textParameter(request.query, 'fields')
  const projection = fields === undefined ? undefined : parseProjection(fields)
  const key = parseDocumentKey(request.params['key'] ?? '')
  if (isStale(request)) return lookupStale(request, context, { key, projection })
  const found = context.service.lookup(tableOf(request), key)
  const answer = (stored: StoredDocument | undefined): BytesReply | Promise<BytesReply> => {
    if (stored === undefined) return documentMissing(request)
    if (projection === undefined) return documentFound(stored)
    return projected(stored, { key, projection }, { request, context })
  }
  return found instanceof Promise ? found.then(answer) : answer(found)
}

interface Looked {
  readonly key: Buffer
  readonly projection: Projection | undefined
}

async function lookupStale(
  request: OperationRequest,
  context: ApiContext,
  { key, projection }: Looked,
): Promise<BytesReply> {
  const found = await context.service.lookupStale(tableOf(request), key)
  const { value: stored, stalenessMs } = found
  const headers = stalenessHeader(stalenessMs)
  if (stored === undefined) return documentMissing(request, headers)
  if (projection === undefined) return documentFound(stored, headers)
  return projected(stored, { key, projection, headers }, { request, context })
}

interface Projected {
  readonly key: Buffer
  readonly projection: Projection
  readonly headers?: readonly string[]
}

async function projected(
  stored: StoredDocument,
  { key, projection, headers }: Projected,
  { request, context }: { readonly request: OperationRequest; readonly context: ApiContext },
): Promise<BytesReply> {
  const { json, version } = stored
  const { body, special } = splitProjection(projection)
  const part = await parsed(request, context, projectStored(json, body, version))
  if (special === undefined) return documentFound({ json: part, version }, headers)
  const more = await context.service.lookupSpecial(tableOf(request), key, special)
  return documentFound({ json: withSpecial(part, more), version }, headers)
}

function documentFound(
  { json, version }: StoredDocument,
  headers: readonly string[] = [],
): BytesReply {
  return jsonBytesReply(200, json, ['X-Service-Version', String(version), ...headers])
}

/** Not an error thrown: version 0 is what a commit needs to assert that the document is absent. */
function documentMissing(request: OperationRequest, headers: readonly string[] = []): BytesReply {
  const error = `no document ${shownKey(request.params['key'] ?? '')} in table ${tableOf(request)}`
  return jsonReply(404, { error, code: 'NOT_FOUND' }, ['X-Service-Version', ABSENT, ...headers])
}
