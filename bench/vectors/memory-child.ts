// A process that opens an index of vectors, searches it, and prints what memory that took, as one line of JSON.
//
//   node memory-child.ts <directory> <bytes for indexes> <file of queries, f32 each>

import { readFileSync } from 'node:fs'
import { systemClock } from '../../lib/clock.ts'
import { readProcessMemory } from '../process-memory.ts'
import { QuarryVectors } from './quarry-vectors.ts'
import { LIMIT } from './search-judge.ts'
import { DIMENSION } from './vector-source.ts'

const [directory = '', memoryBytes = '', queriesFile = ''] = process.argv.slice(2)
const asked = { limit: LIMIT, effort: 0.5 }

const bytes = readFileSync(queriesFile)
const numbers = new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4)
const queries = Array.from({ length: numbers.length / DIMENSION }, (_, i) => {
  return numbers.slice(i * DIMENSION, (i + 1) * DIMENSION)
})
const before = await readProcessMemory(process.pid)
using vectors = await QuarryVectors.open(directory, Number(memoryBytes))
for (const query of queries) vectors.nearest(query, asked)
const beganMs = systemClock.monotonicMs()
for (const query of queries) vectors.nearest(query, asked)
const searchMs = (systemClock.monotonicMs() - beganMs) / queries.length
const after = await readProcessMemory(process.pid)
const told = { anonymousMiB: after.anonymous - before.anonymous, searchMs }
process.stdout.write(`${JSON.stringify(told)}\n`)
process.exit(0)
