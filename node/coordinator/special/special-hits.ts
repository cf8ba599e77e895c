// The special members of the documents on a page of hits.

import { ServiceError } from '../../../lib/errors.ts'
import type { HeldMemory } from '../../../lib/http/request-memory.ts'
import { PAGE_BYTES_MAX } from '../query/page-fetch.ts'
import type { QueryHit, QueryHits } from '../query/query-result.ts'
import { SPECIAL_KEYS_MAX, withSpecial, type SpecialFields } from './special-fields.ts'

/**
 * The same hits, their documents with special members. INVALID_ARGUMENT when those of a page have too many
 * bytes; OVERLOADED when `memory` has no room for them.
 */
export async function hitsWithSpecial(
  { hits, ...counts }: QueryHits,
  special: SpecialFields,
  memory: HeldMemory | undefined,
): Promise<QueryHits> {
  const completed: QueryHit[] = []
  let bytes = 0
  for (let first = 0; first < hits.length; first += SPECIAL_KEYS_MAX) {
    const some = hits.slice(first, first + SPECIAL_KEYS_MAX)
    const members = await special.read(some.map(({ _id }) => Buffer.from(_id)))
    for (const [at, hit] of some.entries()) {
      const more = members[at] ?? '{}'
      bytes += more.length
      if (bytes > PAGE_BYTES_MAX) throw tooLarge()
      memory?.add(more.length)
      const { _source: source } = hit
      completed.push({ ...hit, _source: withSpecial(source, more) })
    }
  }
  return { ...counts, hits: completed }
}

function tooLarge(): ServiceError {
  const most = PAGE_BYTES_MAX / (1024 * 1024)
  const problem = `fields: the vectors of this page have more than ${most} MiB`
  return new ServiceError('INVALID_ARGUMENT', `${problem}; ask for fewer hits (limit)`)
}
