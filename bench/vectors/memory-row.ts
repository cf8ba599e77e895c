// Row `memory`: what an index keeps in memory, in a process of its own.

import { execFileSync } from 'node:child_process'
import { readdirSync, statSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import type { Finding, RowResult } from '../report/finding.ts'
import type { VectorSource } from './vector-source.ts'

const SCRIPT = path.join(import.meta.dirname, 'memory-child.ts')
const MIB = 2 ** 20
/** Almost no cache, and what a worker has by default on a machine of 16 GiB. */
const LEAST_BYTES = 16 * MIB
const DEFAULT_BYTES = 1024 * MIB

interface Told {
  readonly anonymousMiB: number
  readonly searchMs: number
}

/** Numbers and links of all graphs, which are mapped, count as if each page of them was in memory. */
export function measureMemory(source: VectorSource, directory: string): RowResult {
  const queriesFile = path.join(path.dirname(directory), 'queries')
  writeFileSync(
    queriesFile,
    Buffer.concat(source.queries.map((query) => Buffer.from(query.buffer))),
  )
  const graphs = readdirSync(directory).filter((name) => name.endsWith('.graph'))
  const graphBytes = graphs.reduce(
    (sum, name) => sum + statSync(path.join(directory, name)).size,
    0,
  )
  const perVector = graphBytes / source.count
  const findings: Finding[] = []
  const notes: string[] = []
  for (const memoryBytes of [LEAST_BYTES, DEFAULT_BYTES]) {
    const args = [SCRIPT, directory, String(memoryBytes), queriesFile]
    const { anonymousMiB, searchMs }: Told = JSON.parse(
      execFileSync(process.execPath, args, { encoding: 'utf8' }),
    )
    const label = `bytes for a vector, with ${memoryBytes / MIB} MiB for caches`
    findings.push({
      kind: 'ratio',
      label,
      unit: 'bytes',
      peerName: 'f16 numbers and links',
      ours: [perVector + (anonymousMiB * MIB) / source.count],
      peer: [perVector],
      ...(memoryBytes === LEAST_BYTES ? { goal: { kind: 'at-most', value: 1.3 } } : {}),
    })
    notes.push(`${label}: a search took ${searchMs.toFixed(3)} ms`)
  }
  return { findings, notes }
}
