// The limits of one text that a model reads in windows. Other requests wait behind it.

import { ServiceError } from '../../lib/errors.ts'

/** The most characters of one text, because a text is tokenized at once. */
export const WINDOWED_CHARS_MAX = 256 * 1024

/** The most windows of one text. Usual models need a few minutes for them. */
const WINDOWS_MAX = 1_024

/** Throws INVALID_ARGUMENT for a longer text. `place` is the field of the request. */
export function checkWindowedText(text: string, place: string): void {
  if (text.length <= WINDOWED_CHARS_MAX) return
  const message = `${place} has more than ${WINDOWED_CHARS_MAX} characters; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}

/** Throws INVALID_ARGUMENT for too many windows. */
export function checkWindowCount(count: number): void {
  if (count <= WINDOWS_MAX) return
  const message =
    `the text takes ${count} windows of what the model reads at once, ` +
    `and at most ${WINDOWS_MAX} are served; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}
