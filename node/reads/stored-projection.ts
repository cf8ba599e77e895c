import { millisOf, type Timestamp } from '../clock/hybrid-clock.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { projectText } from '../document/project-text.ts'
import { asksFor, type Projection } from '../document/projection.ts'

const TIMESTAMP_FIELD = '_timestamp'

/**
 * A projection of a stored document. `_timestamp` stands for the time of the write when the document
 * does not hold it itself (docs/decisions/0006-virtual-timestamp.md).
 */
export function projectStored(
  json: Buffer,
  projection: Projection,
  version: Timestamp,
): Sliced<Buffer> {
  if (!asksFor(projection, TIMESTAMP_FIELD)) return projectText(json, projection)
  const writtenAt = new Date(millisOf(version)).toISOString()
  return projectText(json, projection, { [TIMESTAMP_FIELD]: writtenAt })
}
