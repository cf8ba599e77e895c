import { validatedBody } from '../../../door/operation.ts'
import type { Handler } from '../../../door/operation.ts'
import { jsonValueReply } from '../sliced-reply.ts'
import type { ApiContext } from '../operation.ts'

/** A node that waits before an older control plane has no more than this. */
type Waiting = Pick<ApiContext, 'clock'> & {
  readonly cluster: Pick<ApiContext['cluster'], 'recover'>
}

export const recoverCluster: Handler<Waiting> = async (request, { cluster, clock }) => {
  const { without = [] } = validatedBody<{ readonly without: readonly string[] }>(request)
  return jsonValueReply(await cluster.recover(without), clock)
}
