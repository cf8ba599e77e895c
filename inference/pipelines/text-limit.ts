import { ServiceError } from '../../lib/errors.ts'

/** Of a text that a model sees window by window: it is tokenized as a whole, while others wait. */
export const WINDOWED_CHARS_MAX = 256 * 1024

/** `place` is the field of the request. */
export function checkWindowedText(text: string, place: string): void {
  if (text.length <= WINDOWED_CHARS_MAX) return
  const message = `${place} has more than ${WINDOWED_CHARS_MAX} characters; send it in parts`
  throw new ServiceError('INVALID_ARGUMENT', message)
}
