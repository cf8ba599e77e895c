// Transforms: changes that are computed from the stored document. They are atomic for each key.

import { ServiceError } from '../../lib/errors.ts'
import { runAtOnce, type Sliced } from '../../lib/sliced.ts'
import { DocumentEditor } from './document-editor.ts'
import { renamedPath, TRANSFORM_OPERATORS } from './transform-operators.ts'
import { shownKey } from './document-limits.ts'
import { JsonScanner } from './json-scanner.ts'
import { readTransforms } from './transform-reader.ts'
import type { TransformRequest } from './transform-request.ts'

/** Parses a list of transforms. `where` is its path in the request body, for messages. */
export function parseTransforms(json: Buffer, where: string): readonly TransformRequest[] {
  const scanner = new JsonScanner(json)
  const transforms = runAtOnce(readTransforms(scanner, where, () => undefined))
  scanner.expectEnd()
  return transforms
}

/**
 * Applies all transforms of one key in their order. `before` and the result are documents as
 * compact JSON. The result is undefined if the document is absent and no transform upserts.
 *
 * One operation that does not fit the document refuses all of them. Bytes that the operations do
 * not touch stay as they are. The caller checks the limits of the result (`checkDocumentLimits`).
 */
export function* applyTransformsSliced(
  before: Buffer | undefined,
  transforms: readonly TransformRequest[],
  nowMs: number,
): Sliced<Buffer | undefined> {
  const first = before === undefined ? transforms.findIndex(({ upsert }) => upsert) : 0
  if (first === -1) return undefined
  const effective = transforms.slice(first)
  const editor = new DocumentEditor(before, namesIn(effective))
  for (const { key, operations } of effective) {
    for (const { operator, path, value } of operations) {
      const refuse = (problem: string): never => {
        const where = `transform of ${shownKey(key.toString('utf8'))}`
        const message = `${where}: ${operator} at "${path.join('.')}": ${problem}`
        throw new ServiceError('INVALID_ARGUMENT', message)
      }
      yield* TRANSFORM_OPERATORS[operator].apply({ editor, path, value, nowMs, refuse })
    }
    yield
  }
  return yield* editor.text()
}

function* namesIn(transforms: readonly TransformRequest[]): Generator<string, undefined> {
  for (const { operations } of transforms) {
    for (const { operator, path, value } of operations) {
      yield* path
      if (operator === '$rename') yield* renamedPath(value)
    }
  }
}
