import { call, createIndexedTable } from '../documents/quarry-server.ts'
import { readProcessMemory } from '../process-memory.ts'
import { leastMs, type Dimension } from './growth.ts'

/** Tables with their index of words, each empty. */
export const tablesDimension: Dimension = {
  name: 'tables',
  small: 10,
  large: 200,
  goals: { 'ms to create one': 1.5 },
  async measure(server, size, bench) {
    for (let at = 0; at < size; at += 1) await createIndexedTable(server, `t${at}`, {})
    let last = 0
    const create = () => createIndexedTable(server, `last${last++}`, {})
    const creation = await leastMs(bench, create)
    const metrics = await leastMs(bench, () => call(`${server.healthOrigin}/metrics`, 'GET'))
    const { resident } = await readProcessMemory(server.process.pid)
    return { 'ms to create one': creation, 'ms for /metrics': metrics, 'MiB resident': resident }
  },
}
