// Whether this installation can run models.

import { ServiceError } from '../../lib/errors.ts'

/**
 * Throws UNAVAILABLE where onnxruntime-node is not installed, as in an image that is for nodes alone: without this a
 * server would start, and each of its models would fail.
 */
export function assertOnnxInstalled(): void {
  try {
    import.meta.resolve('onnxruntime-node')
  } catch (cause) {
    const problem = 'this installation runs no models, because onnxruntime-node is not there'
    const wayOut = 'the image quarry-inference has it; elsewhere npm ci brings it'
    throw new ServiceError('UNAVAILABLE', `${problem}: ${wayOut}`, { cause })
  }
}
