import { readCrossTable } from '../../document/batch-body.ts'
import { limitsOf, parsed, writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonValueReply } from '../sliced-reply.ts'
import { checkTableName } from '../table-name.ts'

export const crossTableBatch: Handler = async (request, context) => {
  const reading = readCrossTable(request.body, limitsOf(request))
  const { writes, syncLevel } = await parsed(request, context, reading)
  for (const { table } of writes) checkTableName(table, 'tables:')
  const options = await writeOptionsOf(request, context, syncLevel)

  const tables = await context.service.crossBatch(writes, options)

  return jsonValueReply({ tables }, context.clock, 201)
}
