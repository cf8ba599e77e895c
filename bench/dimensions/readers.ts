import { batchPath, call, createTable, tablePath } from '../documents/quarry-server.ts'
import { readProcessMemory } from '../process-memory.ts'
import { leastMs, type Dimension } from './growth.ts'

const DOCUMENTS = 40
const DOCUMENT_BYTES = 1024 * 1024
const TABLE = 'grown'

/** Scans of long documents whose clients have read the beginning, and then stand still. */
export const readersDimension: Dimension = {
  name: 'readers',
  small: 1,
  large: 100,
  goals: {},
  async measure(server, size, bench) {
    await createTable(server, TABLE)
    const text = 'x'.repeat(DOCUMENT_BYTES)
    for (let at = 0; at < DOCUMENTS; at += 1) {
      const body = { inserts: { [`${at}`]: { text } } }
      await call(`${server.origin}${batchPath(TABLE)}`, 'POST', body)
    }
    const url = `${server.origin}${tablePath(TABLE)}/lookup`
    const init = { method: 'POST', headers: { 'content-type': 'application/json' } }
    const stop = new AbortController()
    const reading = Array.from({ length: size }, () =>
      fetch(url, { ...init, body: '{"fields":["text"]}', signal: stop.signal }),
    )
    await Promise.all(reading)
    const lookup = await leastMs(bench, () => call(`${url}/1`, 'GET'))
    const { resident } = await readProcessMemory(server.process.pid)
    stop.abort()
    return { 'ms for a lookup': lookup, 'MiB resident': resident }
  },
}
