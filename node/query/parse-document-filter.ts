// Parses the JSON of `filter_query` into a filter that needs no index.

import { buildDocumentFilter } from './filter-of-query.ts'
import { parseQuery } from './language/parse-query.ts'
import type { JsonValue } from '../document/exact-json.ts'
import type { DocumentFilter } from './document-filter.ts'

/**
 * `where` is the place of the filter in the request, such as `filter_query`. Throws
 * INVALID_ARGUMENT.
 */
export function parseDocumentFilter(value: JsonValue, where: string): DocumentFilter {
  return buildDocumentFilter(parseQuery(value, where), where)
}
