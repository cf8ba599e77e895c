import { readMerge } from '../../document/batch-body.ts'
import { limitsOf, parsed, tableOf, writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonValueReply } from '../sliced-reply.ts'

export const mergeTable: Handler = async (request, context) => {
  const reading = readMerge(request.body, limitsOf(request))
  const { syncLevel, ...page } = await parsed(request, context, reading)
  const options = await writeOptionsOf(request, context, syncLevel)
  const result = await context.service.merge(tableOf(request), { ...page, options })
  return jsonValueReply(result, context.clock)
}
