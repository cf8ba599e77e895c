// How much one text may be that a model sees window by window: others wait behind it.

import { ServiceError } from '../../lib/errors.ts'

/** Of one text, because it is tokenized in one go. */
export const WINDOWED_CHARS_MAX = 256 * 1024

/** Of one text. A model of usual size takes a few minutes for them, as long as any client waits. */
const WINDOWS_MAX = 1_024

/** `place` is the field of the request. Throws INVALID_ARGUMENT. */
export function checkWindowedText(text: string, place: string): void {
  if (text.length <= WINDOWED_CHARS_MAX) return
  const message = `${place} has more than ${WINDOWED_CHARS_MAX} characters; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}

/** Throws INVALID_ARGUMENT. */
export function checkWindowCount(count: number): void {
  if (count <= WINDOWS_MAX) return
  const message =
    `the text is ${count} times as much as the model sees at once, ` +
    `and at most ${WINDOWS_MAX} times are served; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}
