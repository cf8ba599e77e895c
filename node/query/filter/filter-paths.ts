import { unreachable } from '../../../lib/assert.ts'
import type { FieldPath } from '../../document/field-path.ts'
import type { DocumentFilter, FilterField } from './document-filter.ts'

/** Every path of a document that the filter reads. */
export function pathsOfFilter(filter: DocumentFilter): readonly FieldPath[] {
  switch (filter.kind) {
    case 'all':
    case 'none':
    case 'ids':
      return []
    case 'match':
    case 'field':
      return pathsOfField(filter.field)
    case 'place':
      return [filter.field]
    case 'and':
    case 'or':
      return filter.filters.flatMap(pathsOfFilter)
    case 'not':
      return pathsOfFilter(filter.filter)
    default:
      return unreachable(filter)
  }
}

function pathsOfField({ path, whole }: FilterField): readonly FieldPath[] {
  return whole === undefined ? [path] : [path, whole]
}
