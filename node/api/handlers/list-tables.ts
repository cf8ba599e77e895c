import { parseLinearPattern } from '../../query/linear-pattern.ts'
import { textParameter } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const listTables: Handler = async ({ query }, { service }) => {
  const prefix = textParameter(query, 'prefix')
  const pattern = textParameter(query, 'pattern')
  const matches =
    pattern === undefined ? () => true : parseLinearPattern(pattern, { match: 'anywhere' })

  const tables = await service.listTables(prefix === undefined ? {} : { prefix })

  return jsonReply(
    200,
    tables.filter(({ name }) => matches(name)),
  )
}
