import { tableOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'

export const updateTableSchema: Handler = async (request, { service }) =>
  jsonReply(200, await service.updateSchema(tableOf(request), request.json))
