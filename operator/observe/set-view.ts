import type { SetView, TemplateFacts } from '../machines/observed/kubernetes-view.ts'
import { VOLUMES } from '../resources/nodes/node-paths.ts'
import { ANNOTATIONS } from '../resources/parts/names.ts'
import { quantityBytes } from '../resources/parts/quantity.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { recordsAt, textAt, valueAt, wholeAt } from './json-fields.ts'

/** What Kubernetes takes for a set without the field. */
const REPLICAS_DEFAULT = 1

/** The claim template of every set of ours whose volumes the operator looks after. */
export const CLAIM_TEMPLATE = VOLUMES.data

export function setViewOf(set: StoredObject): SetView {
  const { uid, resourceVersion, generation = 0, deletionTimestamp } = set.metadata
  return {
    uid,
    resourceVersion,
    generation,
    observedGeneration: wholeAt(set, 'status', 'observedGeneration') ?? 0,
    replicas: wholeAt(set, 'spec', 'replicas') ?? REPLICAS_DEFAULT,
    partition: wholeAt(set, 'spec', 'updateStrategy', 'rollingUpdate', 'partition') ?? 0,
    updateRevision: textAt(set, 'status', 'updateRevision') ?? '',
    isDeleting: deletionTimestamp !== undefined,
    template: templateFactsOf(valueAt(set, 'spec', 'template')),
    claimBytes: claimBytesOf(set),
  }
}

/** A template that nobody of us has written has no digest, and so differs from every one that is wished. */
export function templateFactsOf(template: unknown): TemplateFacts {
  const annotationOf = (name: string) => textAt(template, 'metadata', 'annotations', name)
  const restartedAt = annotationOf(ANNOTATIONS.restartedAt)
  return {
    digest: annotationOf(ANNOTATIONS.templateDigest) ?? '',
    version: annotationOf(ANNOTATIONS.version) ?? '',
    // The first container is the server that the pod is for.
    image: textAt(recordsAt(template, 'spec', 'containers')[0], 'image') ?? '',
    ...(restartedAt === undefined ? {} : { restartedAt }),
  }
}

function claimBytesOf(set: StoredObject): number {
  const template = recordsAt(set, 'spec', 'volumeClaimTemplates').find(
    (one) => textAt(one, 'metadata', 'name') === CLAIM_TEMPLATE,
  )
  return quantityBytes(textAt(template, 'spec', 'resources', 'requests', 'storage') ?? '')
}
