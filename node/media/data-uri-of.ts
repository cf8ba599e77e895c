import type { Sliced } from '../../lib/sliced.ts'

/** Encoded in a step. A multiple of three, so that the parts fit together. */
const STEP_BYTES = 192 * 1024

/** `data:<type>;base64,…` */
export function* dataUriOf(bytes: Buffer, type: string): Sliced<string> {
  const parts = [`data:${type};base64,`]
  for (let from = 0; from < bytes.length; from += STEP_BYTES) {
    parts.push(bytes.toString('base64', from, from + STEP_BYTES))
    yield
  }
  return parts.join('')
}
