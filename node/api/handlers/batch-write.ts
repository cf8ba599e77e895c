import { setImmediate as nextTurn } from 'node:timers/promises'
import { parseTableWrites } from '../../document/batch-body.ts'
import { tableOf, writeOptionsOf } from '../operation.ts'
import type { Handler } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'

/** Between parsing and applying more than this, other requests get their turn. */
const TURN_BYTES = 128 * 1024

export const batchWrite: Handler = async (request, { service }) => {
  const { writes, syncLevel } = parseTableWrites(tableOf(request), request.body)
  if (request.body.length > TURN_BYTES) await nextTurn()
  return jsonReply(201, await service.batch(writes, writeOptionsOf(request, syncLevel)))
}
