import { readTableWrites } from '../../document/batch-body.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import { limitsOf, parsed, tableOf, writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'

export const batchWrite: Handler = async (request, context) => {
  const reading = readTableWrites(tableOf(request), request.body, limitsOf(request))
  // The busiest write: values that are there at once are not awaited.
  const body = parsed(request, context, reading)
  const { writes, syncLevel } = body instanceof Promise ? await body : body
  const asked = writeOptionsOf(request, context, syncLevel)
  const options = asked instanceof Promise ? await asked : asked
  return jsonReply(201, await context.service.batch(writes, options))
}
