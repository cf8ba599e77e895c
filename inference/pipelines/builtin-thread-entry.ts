import { parentPort } from 'node:worker_threads'
import { must } from '../../lib/assert.ts'
import type { BuiltinAnswer, BuiltinJob } from './builtin-thread.ts'
import { chunkFixed } from './chunk/fixed-chunker.ts'
import { hashEmbedding } from './embed/builtin-hash.ts'

const port = must(parentPort, 'the parent of a thread')

port.on('message', (job: BuiltinJob) => port.postMessage(answerTo(job), []))

function answerTo(job: BuiltinJob): BuiltinAnswer {
  if (job.kind === 'chunk') return { kind: 'chunk', ranges: chunkFixed(job.text, job.settings) }
  const { texts, dimensions } = job
  return { kind: 'embed', vectors: texts.map((text) => hashEmbedding(text, dimensions)) }
}
