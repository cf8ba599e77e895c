import { parseJsonRecord } from '../../lib/json-record.ts'
import type { ClaimView, DrainedMark } from '../machines/observed/kubernetes-view.ts'
import { ANNOTATIONS } from '../resources/parts/names.ts'
import { quantityBytes } from '../resources/parts/quantity.ts'
import type { StoredObject } from '../runtime/api/api-object.ts'
import { conditionAt, textAt, timeMsAt } from './json-fields.ts'

/** Where claims had their class before they had a field for it. It still counts before the field. */
const CLASS_ANNOTATION = 'volume.beta.kubernetes.io/storage-class'

type Resize = NonNullable<ClaimView['resize']>

/** In the order of how much they matter. */
const CONDITIONS: readonly (readonly [type: string, resize: Resize])[] = [
  ['ControllerResizeError', 'Failed'],
  ['NodeResizeError', 'Failed'],
  ['FileSystemResizePending', 'FileSystemResizePending'],
  ['Resizing', 'Resizing'],
]

/** `status.allocatedResourceStatuses`, in the words of Kubernetes since 1.31 and before. */
const RESOURCE_STATUSES: Readonly<Record<string, Resize>> = {
  ControllerResizeInfeasible: 'Failed',
  NodeResizeInfeasible: 'Failed',
  ControllerResizeFailed: 'Failed',
  NodeResizeFailed: 'Failed',
  NodeResizePending: 'FileSystemResizePending',
  ControllerResizeInProgress: 'Resizing',
  NodeResizeInProgress: 'Resizing',
}

const ORDER: readonly Resize[] = ['Failed', 'FileSystemResizePending', 'Resizing']

/** What is known of a claim beside the claim itself. */
export interface ClaimPlace {
  readonly ordinal: number
  readonly isExpandable: (storageClassName: string | undefined) => boolean
}

export function claimViewOf(claim: StoredObject, place: ClaimPlace): ClaimView {
  const { name, uid, resourceVersion, annotations = {}, deletionTimestamp } = claim.metadata
  const clusterUID = annotations[ANNOTATIONS.clusterUID]
  const drained = drainedMarkOf(annotations[ANNOTATIONS.drained])
  const isBound = textAt(claim, 'status', 'phase') === 'Bound'
  return {
    name,
    ordinal: place.ordinal,
    uid,
    resourceVersion,
    isDeleting: deletionTimestamp !== undefined,
    ...(clusterUID === undefined ? {} : { clusterUID }),
    ...(drained === undefined ? {} : { drained }),
    requestedBytes: quantityBytes(textAt(claim, 'spec', 'resources', 'requests', 'storage') ?? ''),
    capacityBytes: isBound
      ? quantityBytes(textAt(claim, 'status', 'capacity', 'storage') ?? '')
      : 0,
    // The API server refuses another size for a claim that is not bound.
    isExpandable: isBound && place.isExpandable(storageClassOf(claim)),
    ...resizeOf(claim),
  }
}

export function storageClassOf(claim: StoredObject): string | undefined {
  return claim.metadata.annotations?.[CLASS_ANNOTATION] ?? textAt(claim, 'spec', 'storageClassName')
}

/** A mark without one of its members does not count. */
function drainedMarkOf(text: string | undefined): DrainedMark | undefined {
  const record = text === undefined ? undefined : parseJsonRecord(Buffer.from(text))
  const wordOf = (name: string) => textAt(record, name) ?? ''
  const mark = {
    at: timeMsAt(record, 'at') === undefined ? '' : wordOf('at'),
    cluster: wordOf('cluster'),
    nodeID: wordOf('nodeID'),
    operation: wordOf('operation'),
  }
  return Object.values(mark).includes('') ? undefined : mark
}

/** A change of a volume's attributes, such as its throughput, has conditions of its own, and does not change its size. */
function resizeOf(claim: StoredObject): Pick<ClaimView, 'resize' | 'resizeMessage'> {
  const word = textAt(claim, 'status', 'allocatedResourceStatuses', 'storage') ?? ''
  const byWord = Object.hasOwn(RESOURCE_STATUSES, word) ? RESOURCE_STATUSES[word] : undefined
  const [type, byCondition] =
    CONDITIONS.find(([one]) => conditionAt(claim, one)?.['status'] === 'True') ?? []
  const resize = ORDER.find((one) => one === byWord || one === byCondition)
  if (resize === undefined) return {}
  const told = type === undefined ? undefined : textAt(conditionAt(claim, type), 'message')
  const message = byCondition === resize ? told : word
  return { resize, ...(message === undefined || message === '' ? {} : { resizeMessage: message }) }
}
