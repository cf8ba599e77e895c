import { tableOf } from '../operation.ts'
import { emptyReply } from '../reply.ts'
import type { Handler } from '../operation.ts'

export const dropTable: Handler = async (request, { service }) => {
  await service.dropTable(tableOf(request))
  return emptyReply(204)
}
