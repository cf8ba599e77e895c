import { tableOf } from '../operation.ts'
import { emptyReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const dropTable: Handler = async (request, { service }) => {
  await service.dropTable(tableOf(request))
  return emptyReply(204)
}
