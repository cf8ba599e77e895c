import { parseDocumentKey, shownKey } from '../../document/document-limits.ts'
import { parseExact, stringifyExact } from '../../document/exact-json.ts'
import { isJsonObject } from '../../document/json-object.ts'
import { parseProjection } from '../../document/projection.ts'
import type { Projection } from '../../document/projection.ts'
import { projectStored } from '../../coordinator/stored-projection.ts'
import { assert } from '../../../lib/assert.ts'
import type { StoredDocument } from '../../coordinator/store-service.ts'
import { tableOf, textParameter } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { errorReply } from '../error-status.ts'
import { jsonBytesReply } from '../../../lib/http/reply.ts'
import type { BytesReply } from '../../../lib/http/reply.ts'

const ABSENT = '0'

export const lookupDocument: Handler = async (request, { service }) => {
  const table = tableOf(request)
  const keyText = request.params['key'] ?? ''
  const key = parseDocumentKey(keyText)
  const fields = textParameter(request.query, 'fields')
  const projection = fields === undefined ? undefined : parseProjection(fields)

  const found = await service.lookup(table, key)

  if (found === undefined) return documentMissing(table, keyText)
  return documentFound(found, projection)
}

export function documentFound(found: StoredDocument, projection?: Projection): BytesReply {
  const json = projection === undefined ? found.json : projected(found, projection)
  return jsonBytesReply(200, json, ['X-Service-Version', String(found.version)])
}

/** Not an error thrown: version 0 is what a commit needs to assert that the document is absent. */
export function documentMissing(table: string, key: string): BytesReply {
  const error = `no document ${shownKey(key)} in table ${table}`
  return errorReply({ error, code: 'NOT_FOUND' }, ['X-Service-Version', ABSENT])
}

function projected({ json, version }: StoredDocument, projection: Projection): Buffer {
  const document = parseExact(json)
  assert(isJsonObject(document), 'a stored document is an object')
  return Buffer.from(stringifyExact(projectStored(document, projection, version)))
}
