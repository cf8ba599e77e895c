import { ServiceError } from '../../lib/errors.ts'

/** Runs `work`. Throws CANCELLED if `work` rejects because the client's signal aborted. */
export async function unlessCancelled<Result>(
  signal: AbortSignal | undefined,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work()
  } catch (error) {
    if (signal?.aborted !== true || error !== signal.reason) throw error
    throw new ServiceError('CANCELLED', 'the client went away', { cause: error })
  }
}
