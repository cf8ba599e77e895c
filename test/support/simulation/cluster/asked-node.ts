// A question to one node of a simulated cluster, and what its client may believe of the answer.

import { isServiceError, type ErrorCode } from '../../../../lib/errors.ts'
import type { ShardedStore } from '../../../../node/store/sharded-store.ts'
import type { OpenOperation } from '../../checkers/client-history.ts'
import type { VirtualTime } from '../virtual-time.ts'
import type { SimulatedNode } from './simulated-node.ts'

export const TABLE = 'library'
const PATIENCE_MS = 15_000

/** How a call of a store ended for its client. */
export type Told<Answer> =
  | { readonly kind: 'ok'; readonly answer: Answer }
  | { readonly kind: 'fail'; readonly code: ErrorCode | 'DOWN' }
  | { readonly kind: 'unknown' }

/** What happened is not known when a call ends so. Any other code promises that nothing did, and never will. */
const UNKNOWN: readonly ErrorCode[] = [
  'UNAVAILABLE',
  'DEADLINE_EXCEEDED',
  'CANCELLED',
  'CORRUPTION',
  'INTERNAL',
]

/** Asks one node. A process that ends, or is silent for long, leaves the outcome open. */
export async function askNode<Answer>(
  time: VirtualTime,
  node: SimulatedNode,
  call: (store: ShardedStore) => Answer | Promise<Answer>,
): Promise<Told<Answer>> {
  const { life, store } = node
  if (life === undefined || store === undefined) return { kind: 'fail', code: 'DOWN' }
  const asked = async (): Promise<Told<Answer>> => {
    await new Promise<void>((resolve) => life.clock.whenAwake(resolve))
    try {
      return { kind: 'ok', answer: await call(store) }
    } catch (error) {
      if (!isServiceError(error)) {
        node.failures.push(error instanceof Error ? (error.stack ?? '') : String(error))
        return { kind: 'unknown' }
      }
      node.codes.push(error.code)
      const isUnknown = UNKNOWN.includes(error.code)
      return isUnknown ? { kind: 'unknown' } : { kind: 'fail', code: error.code }
    }
  }
  const unknown = { kind: 'unknown' } as const
  const patience = new Promise<typeof unknown>((resolve) =>
    time.after(PATIENCE_MS, () => resolve(unknown)),
  )
  return Promise.race([asked(), life.over.promise.then(() => unknown), patience])
}

/** Ends an operation as its client was told. */
export function settle<Answer>(
  told: Told<unknown>,
  open: OpenOperation<Answer>,
  answer: Answer,
): void {
  if (told.kind === 'ok') open.ok(answer)
  else open[told.kind]()
}
