import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const listOpenaiModels: Handler = (_request, { service }) => {
  const names = [...service.namesOf('generator'), ...service.namesOf('embedder')]
  // When a model was made is not known; clients want the field.
  const data = names.map((id) => ({ id, object: 'model', created: 0, owned_by: 'quarry' }))
  return jsonReply(200, { object: 'list', data })
}
