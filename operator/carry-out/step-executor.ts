// Carries out the one step of a pass.
//
// Invariants:
//   CY1  Nothing happens unless a live read shows the StoreCluster as the pass has read it.
//   CY2  A write names the object that the pass has read by its UID, and by its version where the step has one: the API
//        refuses it for another one.
//   CY3  What was done but not answered is not done twice: the second time its preconditions do not hold, or it changes
//        nothing.

import type { Step } from '../machines/pass/decision.ts'
import { ApiError } from '../runtime/api/api-error.ts'
import { refOf } from '../runtime/api/api-object.ts'
import { CHILD_STEPS } from './child-steps.ts'
import { CLAIM_STEPS } from './claim-steps.ts'
import { CLUSTER_KIND, CLUSTER_STEPS } from './cluster-steps.ts'
import { ETCD_STEPS } from './etcd-steps.ts'
import { SET_STEPS } from './set-steps.ts'
import type {
  ExecutorOptions,
  Handlers,
  Hands,
  StepContext,
  StepOf,
  StepOutcome,
} from './step-context.ts'
import { STORE_STEPS } from './store-steps.ts'

/**
 * Contract:
 * - `carryOut` keeps the promises at `Step`. It resolves when the API, the store or etcd has taken the step.
 * - A conflict of the API, a named object that is gone, and a refusal of the store or etcd that the next look explains are
 *   `outdated`.
 * - It rejects with an error of `classifyError`: an ApiError as it came, and a `TransientError` for the store and etcd. The
 *   step may have happened then.
 */
export class StepExecutor {
  readonly #with: ExecutorOptions

  constructor(options: ExecutorOptions) {
    this.#with = options
  }

  async carryOut(step: Step, context: StepContext, signal: AbortSignal): Promise<StepOutcome> {
    const hands: Hands = { ...this.#with, context, signal }
    try {
      return (await isCurrent(hands)) ? await handle(step.kind, step, hands) : 'outdated'
    } catch (error) {
      if (isOutdated(error, step)) return 'outdated'
      throw error
    }
  }
}

const HANDLERS: Handlers<Step['kind']> = {
  ...CLUSTER_STEPS,
  ...CHILD_STEPS,
  ...SET_STEPS,
  ...CLAIM_STEPS,
  ...STORE_STEPS,
  ...ETCD_STEPS,
}

function handle<Kind extends Step['kind']>(
  kind: Kind,
  step: StepOf<Kind>,
  hands: Hands,
): Promise<StepOutcome> {
  return HANDLERS[kind](step, hands)
}

/** CY1. */
async function isCurrent({ api, context, signal }: Hands): Promise<boolean> {
  const read = context.cluster.metadata
  const live = (await api.get(refOf(CLUSTER_KIND, read), signal))?.metadata
  return live?.uid === read.uid && live.resourceVersion === read.resourceVersion
}

/** An apply makes what is absent: that something is not found is then not the object, but its kind or namespace. */
function isOutdated(error: unknown, { kind }: Step): boolean {
  if (!(error instanceof ApiError)) return false
  return error.status === 409 || (error.status === 404 && kind !== 'apply_children')
}
