import { indexOf, tableOf } from '../operation.ts'
import { emptyReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const dropIndex: Handler = async (request, { service }) => {
  await service.dropIndex(tableOf(request), indexOf(request))
  return emptyReply(204)
}
