// The code of the thread that runs the built-in models.

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

/** A job whose text is still arriving or whose answer is being computed. */
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
    if (!cancelled.signal.aborted) throw error // a bug, which ends the thread
  } finally {
    held.delete(id)
  }
}

function* answerTo(job: BuiltinJob, text: string): Sliced<BuiltinAnswer> {
  // The first read joins the pieces of the text, which takes time. So it gets a slice of its own.
  yield
  if (job.kind === 'chunk') return { kind: 'chunk', ranges: yield* chunkFixed(text, job.settings) }
  const vectors: Float32Array[] = []
  for (const each of job.texts) vectors.push(yield* hashEmbeddingInSteps(each, job.dimensions))
  return { kind: 'embed', vectors }
}
