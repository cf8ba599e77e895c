import { ServiceError } from '../../lib/errors.ts'

/** The most windows of one text. Usual models need a few minutes for them. */
const WINDOWS_MAX = 1_024

/** Throws INVALID_ARGUMENT for too many windows, because other requests wait behind the text. */
export function checkWindowCount(count: number): void {
  if (count <= WINDOWS_MAX) return
  const message =
    `the text takes ${count} windows of what the model reads at once, ` +
    `and at most ${WINDOWS_MAX} are served; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}
