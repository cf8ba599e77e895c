// The built-in models from the inside of their thread.

import { parentPort } from 'node:worker_threads'
import { must } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import { runSliced } from '../../../lib/sliced.ts'
import type { Sliced } from '../../../lib/sliced.ts'
import type {
  BuiltinAnswer,
  BuiltinJob,
  FromBuiltinThread,
  ToBuiltinThread,
} from './builtin-thread.ts'
import { chunkFixed } from './fixed-chunker.ts'
import { hashEmbeddingInSteps } from './builtin-hash.ts'

/** A text that comes in pieces, and who waits for what is made of it. */
interface Held {
  text: string
  readonly cancelled: AbortController
}

const port = must(parentPort, 'the parent of a thread')
const held = new Map<number, Held>()

port.on('message', (message: ToBuiltinThread) => {
  const { id } = message
  switch (message.kind) {
    case 'piece':
      heldOf(id).text += message.text
      return
    case 'cancel':
      held.get(id)?.cancelled.abort()
      held.delete(id)
      return
    case 'job':
      void perform(id, message.job)
  }
})

function heldOf(id: number): Held {
  const known = held.get(id) ?? { text: '', cancelled: new AbortController() }
  held.set(id, known)
  return known
}

async function perform(id: number, job: BuiltinJob): Promise<void> {
  const { text, cancelled } = heldOf(id)
  try {
    const work = answerTo(job, text)
    const answer = await runSliced(work, { clock: systemClock, signal: cancelled.signal })
    port.postMessage({ id, answer } satisfies FromBuiltinThread, [])
  } catch (error) {
    if (!cancelled.signal.aborted) throw error // our own mistake ends the thread
  } finally {
    held.delete(id)
  }
}

function* answerTo(job: BuiltinJob, text: string): Sliced<BuiltinAnswer> {
  // Its pieces may have come in this turn, and whoever reads it first puts them together.
  yield
  if (job.kind === 'chunk') return { kind: 'chunk', ranges: yield* chunkFixed(text, job.settings) }
  const vectors: Float32Array[] = []
  for (const each of job.texts) vectors.push(yield* hashEmbeddingInSteps(each, job.dimensions))
  return { kind: 'embed', vectors }
}
