import { ConflictError, NotFoundError, QuarryError } from '../../clients/typescript/src/errors.ts'

/**
 * What a call of the store that failed asks of a pass.
 * - `outdated`: nothing happened, because the store is not as it was read: another operation has the node, the node is gone.
 * - `transient`: the store did not do it, or did not say so. It may later.
 */
export type StoreFailure = 'outdated' | 'transient'

/** `undefined` for an error that does not come from the store. */
export function storeFailureOf(error: unknown): StoreFailure | undefined {
  if (error instanceof ConflictError || error instanceof NotFoundError) return 'outdated'
  return error instanceof QuarryError ? 'transient' : undefined
}
