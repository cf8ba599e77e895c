import { jsonValueReply } from '../sliced-reply.ts'
import type { Handler } from '../operation.ts'

export const listNodes: Handler = async (_request, { cluster, clock }) =>
  jsonValueReply(await cluster.nodes(), clock)
