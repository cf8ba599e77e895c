// Steps that the store is asked for.

import { must } from '../../lib/assert.ts'
import { messageOf } from '../../lib/errors.ts'
import { unlessAborted } from '../../lib/unless-aborted.ts'
import type { StoreStep } from '../machines/pass/decision.ts'
import { TransientError } from '../runtime/api/api-error.ts'
import type { StoreAdmin } from '../store/store-admin.ts'
import { storeFailureOf } from '../store/store-failure.ts'
import type { Handlers, Hands, StepOutcome } from './step-context.ts'

export const STORE_STEPS: Handlers<StoreStep['kind']> = {
  hand_over: ({ nodeID }, hands) => steer(hands, (store) => store.handOver(nodeID)),
  drain: (step, hands) => steer(hands, (store) => store.drain(step)),
  undrain: (step, hands) => steer(hands, (store) => store.undrain(step)),
  decommission: (step, hands) => steer(hands, (store) => store.decommission(step)),
  forget: ({ nodeID }, hands) => steer(hands, (store) => store.forget(nodeID)),
}

async function steer(
  { context, signal }: Hands,
  call: (store: StoreAdmin) => Promise<void>,
): Promise<StepOutcome> {
  const store = must(context.store, 'a store whose answer has asked for the step')
  try {
    await unlessAborted(call(store), signal)
    return 'done'
  } catch (error) {
    const failure = storeFailureOf(error)
    if (failure === 'outdated') return 'outdated'
    if (failure === undefined) throw error
    throw new TransientError(`the store: ${messageOf(error)}`, { cause: error })
  }
}
