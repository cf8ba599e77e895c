import { textParameter } from '../../../door/operation.ts'
import { readTrouble } from '../../steering/cluster-service.ts'
import type { Handler } from '../operation.ts'
import { jsonValueReply } from '../sliced-reply.ts'

const LIMIT_DEFAULT = 100

export const listShards: Handler = async ({ query }, { cluster, clock }) => {
  const { limit } = query
  const page = await cluster.shards({
    table: textParameter(query, 'table'),
    trouble: readTrouble(textParameter(query, 'trouble')),
    limit: typeof limit === 'number' ? limit : LIMIT_DEFAULT,
    cursor: textParameter(query, 'cursor'),
  })
  return jsonValueReply(page, clock)
}
