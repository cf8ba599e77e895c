import { batchPath, call, createIndexedTable, tablePath } from '../documents/quarry-server.ts'
import { readProcessMemory } from '../process-memory.ts'
import { leastMs, type Dimension } from './growth.ts'

const DOCUMENTS = 10_000
const BATCH = 1000
const TABLE = 'grown'

/** Fields that no schema describes; each document has one of them. */
export const fieldsDimension: Dimension = {
  name: 'fields',
  small: 10,
  large: 2000,
  goals: {},
  async measure(server, size, bench) {
    await createIndexedTable(server, TABLE, {})
    const beganMs = bench.clock.monotonicMs()
    for (let from = 0; from < DOCUMENTS; from += BATCH) {
      const inserts = Object.fromEntries(
        Array.from({ length: BATCH }, (_, at) => [
          `${from + at}`,
          { [`f${(from + at) % size}`]: `word${at % 13}` },
        ]),
      )
      const body = { inserts, sync_level: 'full_text' }
      await call(`${server.origin}${batchPath(TABLE)}`, 'POST', body)
    }
    const writtenMs = bench.clock.monotonicMs() - beganMs
    const query = { full_text_search: { match: 'word7' } }
    const ask = () => call(`${server.origin}${tablePath(TABLE)}/query`, 'POST', query)
    const { resident } = await readProcessMemory(server.process.pid)
    return {
      'ms to write and index': writtenMs,
      'ms for a word': await leastMs(bench, ask),
      'MiB resident': resident,
    }
  },
}
