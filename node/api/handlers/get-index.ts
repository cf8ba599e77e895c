import { indexOf, tableOf } from '../operation.ts'
import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getIndex: Handler = async (request, { service }) => {
  const { parked } = request.query
  const parkedMax = typeof parked === 'number' ? parked : 0
  return jsonReply(200, await service.getIndex(tableOf(request), indexOf(request), { parkedMax }))
}
