import { millisOf, type Timestamp } from '../clock/hybrid-clock.ts'
import type { JsonObject } from '../document/exact-json.ts'
import { asksFor, project, type Projection } from '../document/projection.ts'

const TIMESTAMP_FIELD = '_timestamp'

/**
 * A projection of a stored document. `_timestamp` stands for the time of the write when the document
 * does not hold it itself (docs/decisions/0006-virtual-timestamp.md).
 */
export function projectStored(
  document: JsonObject,
  projection: Projection,
  version: Timestamp,
): JsonObject {
  if (!asksFor(projection, TIMESTAMP_FIELD)) return project(document, projection)
  const writtenAt = new Date(millisOf(version)).toISOString()
  return project(document, projection, { [TIMESTAMP_FIELD]: writtenAt })
}
