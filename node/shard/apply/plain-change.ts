// The change of a key by an operation that computes nothing.

import { unreachable } from '../../../lib/assert.ts'
import { ServiceError } from '../../../lib/errors.ts'
import { shownKey } from '../../document/document-limits.ts'
import type { ArtifactWrite } from '../../embedding/written-embeddings.ts'
import type { WriteOp } from '../command/command.ts'
import type { IntentOp } from '../format/intent-codec.ts'

export function changeBy(
  op: Exclude<WriteOp, { readonly kind: 'transform' }>,
  ttlGeneration: number,
): IntentOp {
  switch (op.kind) {
    case 'put': {
      const { json, expiry, artifacts } = op
      return { kind: 'put', json, expiry, ttlGeneration, artifacts }
    }
    case 'artifacts':
      return { kind: 'artifacts', artifacts: op.artifacts }
    case 'delete':
      return { kind: 'delete' }
    default:
      return unreachable(op)
  }
}

/** What a change writes to artifacts. */
export function artifactsIn(op: IntentOp | undefined): readonly ArtifactWrite[] | undefined {
  return op?.kind === 'put' || op?.kind === 'artifacts' ? op.artifacts : undefined
}

/** The refusal of artifacts whose document is absent, deleted or expired. */
export function noDocument(key: Buffer): ServiceError {
  return new ServiceError(
    'INVALID_ARGUMENT',
    `document ${shownKey(key.toString())} has only _embeddings, and there is no document under this key; write its fields too`,
  )
}
