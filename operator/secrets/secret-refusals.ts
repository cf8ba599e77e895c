// Refusals of the API server may repeat what was sent to it, and end in a log or in a status.

import { ApiError } from '../runtime/api/api-error.ts'
import { redacted } from '../runtime/events/redactor.ts'
import { dataOf } from './secret-content.ts'

/** Shorter lines of a text tell nothing, such as the last one of a key in PEM. */
const LINE_LENGTH_MIN = 8

/** What `write` answers. A refusal is an `ApiError` as it was, less every value of these Secrets, and without its cause. */
export async function withoutContent<Answer>(
  secrets: readonly (object | undefined)[],
  write: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await write()
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    const values = secrets.flatMap(valuesOf)
    const causes = error.causes.map(({ reason, field, message }) => ({
      reason,
      field: redacted(field, values),
      message: redacted(message, values),
    }))
    const { status, reason, retryAfterMs } = error
    throw new ApiError(redacted(error.message, values), {
      status,
      reason,
      causes,
      ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    })
  }
}

/** In base64 and as they are, and the lines of texts, because a refusal may write line feeds in another way. */
function valuesOf(secret: object | undefined): readonly string[] {
  return Object.values(dataOf(secret)).flatMap((value) => {
    const text = Buffer.from(value, 'base64').toString('utf8')
    const lines = text.split('\n').filter(({ length }) => length >= LINE_LENGTH_MIN)
    return [value, text, ...lines]
  })
}
