// Steps about the objects that may be applied and deleted at any time.

import { isOwnedBy } from '../children/children.ts'
import { refNamed } from '../children/live-children.ts'
import { ApiError, classifyError } from '../runtime/api/api-error.ts'
import type { ErrorClass } from '../runtime/api/api-error.ts'
import { writeSecrets } from '../secrets/write-secrets.ts'
import type { Handlers, Hands, StepOf, StepOutcome } from './step-context.ts'

export const CHILD_STEPS: Handlers<'apply_children' | 'delete_children'> = {
  apply_children: applyChildren,
  delete_children: deleteChildren,
}

/** Secrets first: pods start with them. What the API refuses does not keep the rest from being applied. */
async function applyChildren(
  { names }: StepOf<'apply_children'>,
  hands: Hands,
): Promise<StepOutcome> {
  const { api, applier, clock, keys, random, context, signal } = hands
  const { input, secrets: view, wishes } = context
  const wish = { input, view, names, nowMs: clock.nowMs(), keys, random }
  const named = [...wishes].filter(([name]) => names.includes(name))
  const writes: readonly (() => Promise<unknown>)[] = [
    () => writeSecrets(api, wish, signal),
    ...named.map(
      ([, child]) =>
        () =>
          applier.apply(child, signal),
    ),
  ]
  const refusals: ApiError[] = []
  for (const write of writes) {
    try {
      await write()
    } catch (error) {
      if (!(error instanceof ApiError) || !OF_ONE_OBJECT.has(classifyError(error))) throw error
      refusals.push(error)
    }
  }
  const [first] = refusals
  if (first !== undefined) throw first
  return 'done'
}

/** Another object may fare better. */
const OF_ONE_OBJECT: ReadonlySet<ErrorClass> = new Set([
  'conflict',
  'forbidden',
  'invalid',
  'absent',
])

/** Each is read live: a name that was told from a cache may be somebody else's by now. */
async function deleteChildren(
  { names }: StepOf<'delete_children'>,
  { api, applier, context, signal }: Hands,
): Promise<StepOutcome> {
  const { uid: clusterUID, namespace } = context.input.cluster
  for (const name of names) {
    if (context.wishes.has(name)) return 'outdated'
    const ref = refNamed(name, namespace)
    const live = await api.get(ref, signal)
    if (live === undefined || live.metadata.deletionTimestamp !== undefined) continue
    if (!isOwnedBy(live, clusterUID)) return 'outdated'
    const { uid, resourceVersion } = live.metadata
    await api.delete({ ref, uid, resourceVersion, propagation: 'Background' }, signal)
    applier.forget(ref.kind, live)
  }
  return 'done'
}
