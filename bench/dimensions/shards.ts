import { batchPath, call, createIndexedTable, tablePath } from '../documents/quarry-server.ts'
import { readProcessMemory } from '../process-memory.ts'
import { leastMs, type Dimension, type Figures } from './growth.ts'

const DOCUMENTS = 10_000
const BATCH = 1000
const TABLE = 'grown'

/** What is asked, by what it is. */
const QUERIES: Readonly<Record<string, object>> = {
  'ms for all documents': { full_text_search: { match_all: {} } },
  'ms for a term': { full_text_search: { term: 'word7', field: 'text' } },
  'ms for two words': { full_text_search: { match: 'word7 word11', field: 'text' } },
}

/** The shards of one table that has the same documents. */
export const shardsDimension: Dimension = {
  name: 'shards',
  small: 1,
  large: 256,
  goals: {},
  async measure(server, size, bench) {
    await createIndexedTable(server, TABLE, { num_shards: size })
    for (let from = 0; from < DOCUMENTS; from += BATCH) {
      const inserts = Object.fromEntries(
        Array.from({ length: BATCH }, (_, at) => [keyOf(from + at), documentOf(from + at)]),
      )
      const body = { inserts, sync_level: 'full_text' }
      await call(`${server.origin}${batchPath(TABLE)}`, 'POST', body)
    }
    const figures: Record<string, number> = {}
    for (const [unit, query] of Object.entries(QUERIES)) {
      const ask = () => call(`${server.origin}${tablePath(TABLE)}/query`, 'POST', query)
      figures[unit] = await leastMs(bench, ask)
    }
    const { resident } = await readProcessMemory(server.process.pid)
    return { ...figures, 'MiB resident': resident } satisfies Figures
  },
}

/** Keys that are spread over all shards: an even cut of the keys is one of their first bytes. */
function keyOf(at: number): string {
  return `${String.fromCodePoint(1 + (at % 126))}${at}`
}

function documentOf(at: number): object {
  return { text: `word${at % 13} word${at % 17} word${at % 101}`, n: at }
}
