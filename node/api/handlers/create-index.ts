import { indexOf, tableOf } from '../operation.ts'
import { emptyReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const createIndex: Handler = async (request, { service }) => {
  await service.createIndex(tableOf(request), indexOf(request), request.json)
  return emptyReply(201)
}
