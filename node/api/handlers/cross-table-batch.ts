import { parseCrossTable } from '../../document/batch-body.ts'
import { writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import { checkTableName } from '../table-name.ts'

export const crossTableBatch: Handler = async (request, { service }) => {
  const { writes, syncLevel } = parseCrossTable(request.body)
  for (const { table } of writes) checkTableName(table, 'tables:')

  const tables = await service.crossBatch(writes, writeOptionsOf(request, syncLevel))

  return jsonReply(201, { tables })
}
