import { parseTableWrites } from '../../document/batch-body.ts'
import { tableOf, writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonReply } from '../reply.ts'

export const batchWrite: Handler = async (request, { service }) => {
  const { writes, syncLevel } = parseTableWrites(tableOf(request), request.body)
  return jsonReply(201, await service.batch(writes, writeOptionsOf(request, syncLevel)))
}
