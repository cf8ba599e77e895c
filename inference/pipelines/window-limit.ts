import { ServiceError } from '../../lib/errors.ts'

/** Of one text. With models of usual size they take a few minutes, as long as anybody waits. */
const WINDOWS_MAX = 1_024

/** Refuses a text of which a model would have to see too many windows: others wait behind it. */
export function checkWindowCount(count: number): void {
  if (count <= WINDOWS_MAX) return
  const message =
    `the text is ${count} times as much as the model sees at once, ` +
    `and at most ${WINDOWS_MAX} times are served; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}
