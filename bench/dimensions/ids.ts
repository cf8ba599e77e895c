import { batchPath, call, createIndexedTable, tablePath } from '../documents/quarry-server.ts'
import { leastMs, type Dimension } from './growth.ts'

const DOCUMENTS = 20_000
const BATCH = 1000
const TABLE = 'grown'

/** The keys that a scan and a query name in one table. */
export const idsDimension: Dimension = {
  name: 'ids',
  small: 10,
  large: 10_000,
  goals: {},
  async measure(server, size, bench) {
    await createIndexedTable(server, TABLE, { num_shards: 4 })
    for (let from = 0; from < DOCUMENTS; from += BATCH) {
      const inserts = Object.fromEntries(
        Array.from({ length: BATCH }, (_, at) => [`k${from + at}`, { n: from + at }]),
      )
      const body = { inserts, sync_level: 'full_text' }
      await call(`${server.origin}${batchPath(TABLE)}`, 'POST', body)
    }
    const ids = Array.from({ length: size }, (_, at) => `k${(at * 7919) % DOCUMENTS}`)
    const filter_query = { ids }
    const table = `${server.origin}${tablePath(TABLE)}`
    return {
      'ms for a query': await leastMs(bench, () =>
        call(`${table}/query`, 'POST', { filter_query }),
      ),
      'ms for a scan': await leastMs(bench, () =>
        call(`${table}/lookup`, 'POST', { filter_query }),
      ),
    }
  },
}
