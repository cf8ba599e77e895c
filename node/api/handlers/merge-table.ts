import { parseMerge } from '../../document/batch-body.ts'
import { tableOf, writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'

export const mergeTable: Handler = async (request, { service }) => {
  const { syncLevel, ...page } = parseMerge(request.body)
  const options = writeOptionsOf(request, syncLevel)
  return jsonReply(200, await service.merge(tableOf(request), { ...page, options }))
}
