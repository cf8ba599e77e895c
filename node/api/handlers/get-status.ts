import type { Handler } from '../operation.ts'
import { jsonValueReply } from '../sliced-reply.ts'

export const getStatus: Handler = async (_request, { service, clock }) =>
  jsonValueReply(await service.status(), clock)
