import { compileLinearPattern } from '../../../lib/linear-pattern/linear-pattern.ts'
import { textParameter } from '../../../door/operation.ts'
import { jsonValueReply } from '../sliced-reply.ts'
import type { Handler } from '../operation.ts'

export const listTables: Handler = async ({ query }, { service, clock }) => {
  const prefix = textParameter(query, 'prefix')
  const pattern = textParameter(query, 'pattern')
  const wanted =
    pattern === undefined ? undefined : compileLinearPattern(pattern, { match: 'anywhere' })

  const tables = await service.listTables(prefix === undefined ? {} : { prefix })

  return jsonValueReply(
    tables.filter(({ name }) => wanted?.test(name) ?? true),
    clock,
  )
}
