import { ServiceError } from '../../lib/errors.ts'

/** The limit for texts that a model reads in windows. They are tokenized at once, and others wait. */
export const WINDOWED_CHARS_MAX = 256 * 1024

/** Throws INVALID_ARGUMENT for a longer text. `place` is the field of the request. */
export function checkWindowedText(text: string, place: string): void {
  if (text.length <= WINDOWED_CHARS_MAX) return
  const message = `${place} has more than ${WINDOWED_CHARS_MAX} characters; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}
