import { jsonReply } from '../../../lib/http/reply.ts'
import type { Handler } from '../operation.ts'

export const getStatus: Handler = async (_request, { service }) =>
  jsonReply(200, await service.status())
