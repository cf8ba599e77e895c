import type { CreateTableRequest } from '../../catalog/admin/create-table-request.ts'
import { validatedBody } from '../../../door/operation.ts'
import { tableOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'

export const createTable: Handler = async (request, { service }) => {
  const asked = validatedBody<CreateTableRequest>(request)
  return jsonReply(201, await service.createTable(tableOf(request), asked))
}
