import { parseDocumentKey, shownKey } from '../../document/document-limits.ts'
import { parseProjection } from '../../document/projection.ts'
import { projectStored } from '../../coordinator/stored-projection.ts'
import type { StoredDocument } from '../../coordinator/store-service.ts'
import { parsed, tableOf, textParameter } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { errorReply } from '../error-status.ts'
import { jsonBytesReply } from '../../../lib/http/reply.ts'
import type { BytesReply } from '../../../lib/http/reply.ts'

const ABSENT = '0'

export const lookupDocument: Handler = async (request, context) => {
  const table = tableOf(request)
  const keyText = request.params['key'] ?? ''
  const key = parseDocumentKey(keyText)
  const fields = textParameter(request.query, 'fields')
  const projection = fields === undefined ? undefined : parseProjection(fields)

  const found = await context.service.lookup(table, key)

  if (found === undefined) return documentMissing(table, keyText)
  if (projection === undefined) return documentFound(found)
  const { json, version } = found
  const part = await parsed(request, context, projectStored(json, projection, version))
  return documentFound({ json: part, version })
}

export function documentFound({ json, version }: StoredDocument): BytesReply {
  return jsonBytesReply(200, json, ['X-Service-Version', String(version)])
}

/** Not an error thrown: version 0 is what a commit needs to assert that the document is absent. */
export function documentMissing(table: string, key: string): BytesReply {
  const error = `no document ${shownKey(key)} in table ${table}`
  return errorReply({ error, code: 'NOT_FOUND' }, ['X-Service-Version', ABSENT])
}
