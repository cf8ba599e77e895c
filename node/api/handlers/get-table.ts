import { tableOf } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getTable: Handler = async (request, { service }) =>
  jsonReply(200, await service.getTable(tableOf(request)))
