import { indexOf, tableOf } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const createIndex: Handler = async (request, { service }) => {
  const created = await service.createIndex(tableOf(request), indexOf(request), request.json)
  return jsonReply(201, created)
}
