import { batchPath, call, createIndexedTable, tablePath } from '../documents/quarry-server.ts'
import { leastMs, type Dimension } from './growth.ts'

const DOCUMENTS = 20_000
const BATCH = 1000
const TABLE = 'grown'

/** The distinct values of one field in as many documents: what facets count, and filters look for. */
export const valuesDimension: Dimension = {
  name: 'values',
  small: 20,
  large: DOCUMENTS,
  goals: {},
  async measure(server, size, bench) {
    await createIndexedTable(server, TABLE, { num_shards: 1 })
    for (let from = 0; from < DOCUMENTS; from += BATCH) {
      const inserts = Object.fromEntries(
        Array.from({ length: BATCH }, (_, at) => [
          `k${from + at}`,
          { tag: valueOf(from + at, size) },
        ]),
      )
      const body = { inserts, sync_level: 'full_text' }
      await call(`${server.origin}${batchPath(TABLE)}`, 'POST', body)
    }
    const field = 'tag.keyword'
    const facet = { limit: 0, aggregations: { tags: { type: 'terms', field } } }
    const distinct = { limit: 0, aggregations: { tags: { type: 'cardinality', field } } }
    const query = (body: object) => () =>
      call(`${server.origin}${tablePath(TABLE)}/query`, 'POST', body)
    return {
      'ms for a facet': await leastMs(bench, query(facet)),
      'ms for a count of values': await leastMs(bench, query(distinct)),
    }
  },
}

function valueOf(at: number, size: number): string {
  return `value${at % size}`
}
