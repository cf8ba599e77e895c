// Steps about claims. Each is read live, and the write tests the version again: a claim is a volume with data.

import { kindNamed } from '../children/child-kinds.ts'
import type { ObjectVersion } from '../machines/pass/decision.ts'
import { bytesText } from '../machines/pass/bytes-text.ts'
import { ANNOTATIONS } from '../resources/parts/names.ts'
import type { ObjectRef, StoredObject } from '../runtime/api/api-object.ts'
import type { JsonPatchStep } from '../runtime/api/kubernetes-api.ts'
import type { Handlers, Hands, StepOutcome } from './step-context.ts'

export const CLAIM_STEPS: Handlers<'adopt_claim' | 'mark_claim' | 'delete_claim' | 'grow_claim'> = {
  adopt_claim: (step, hands) =>
    changeClaim(step, hands, (live) => annotate(live, ANNOTATIONS.clusterUID, step.clusterUID)),
  mark_claim: (step, hands) =>
    changeClaim(step, hands, (live) =>
      annotate(live, ANNOTATIONS.drained, JSON.stringify(step.mark)),
    ),
  delete_claim: async ({ name, claim }, hands) => {
    const request = { ref: claimRef(hands, name), ...claim, propagation: 'Background' } as const
    await hands.api.delete(request, hands.signal)
    return 'done'
  },
  grow_claim: (step, hands) =>
    changeClaim(step, hands, () => {
      const path = '/spec/resources/requests/storage'
      return { op: 'replace', path, value: bytesText(step.bytes) }
    }),
}

async function changeClaim(
  { name, claim }: { readonly name: string; readonly claim: ObjectVersion },
  hands: Hands,
  changeOf: (live: StoredObject) => JsonPatchStep,
): Promise<StepOutcome> {
  const { api, signal } = hands
  const ref = claimRef(hands, name)
  const live = await api.get(ref, signal)
  if (live === undefined || !isVersion(live, claim)) return 'outdated'
  const steps: readonly JsonPatchStep[] = [
    { op: 'test', path: '/metadata/uid', value: claim.uid },
    { op: 'test', path: '/metadata/resourceVersion', value: claim.resourceVersion },
    changeOf(live),
  ]
  await api.patch({ ref, patch: { type: 'json', steps }, part: 'object' }, signal)
  return 'done'
}

function claimRef({ context }: Hands, name: string): ObjectRef {
  const { namespace } = context.input.cluster
  return { kind: kindNamed('PersistentVolumeClaim'), namespace, name }
}

function isVersion({ metadata }: StoredObject, { uid, resourceVersion }: ObjectVersion): boolean {
  return metadata.uid === uid && metadata.resourceVersion === resourceVersion
}

/** A JSON patch adds no member to a record that is absent. */
function annotate({ metadata }: StoredObject, name: string, value: string): JsonPatchStep {
  if (metadata.annotations === undefined) {
    return { op: 'add', path: '/metadata/annotations', value: { [name]: value } }
  }
  return { op: 'add', path: `/metadata/annotations/${name.replaceAll('/', '~1')}`, value }
}
