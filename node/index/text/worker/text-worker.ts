// The entry of an index worker: calls in, answers out, and maintenance while nobody asks.

import { parentPort } from 'node:worker_threads'
import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { isServiceError } from '../../../../lib/errors.ts'
import type { FromTextWorker, ToTextWorker } from './protocol.ts'
import { TextIndexHost } from './text-index-host.ts'

/** A search that arrives during a slice waits this long; a slice of every index, at most. */
const SLICE_MS = 4

const port = must(parentPort, 'the parent of a worker')
const post = (message: FromTextWorker<unknown>): void => port.postMessage(message)
const host = new TextIndexHost(systemClock, (index, error) =>
  post({ kind: 'broken', index, error }),
)
let isScheduled = false

port.on('message', (message: ToTextWorker) => {
  const { id } = message
  try {
    post({ kind: 'answer', id, answer: host.handle(message) })
  } catch (error) {
    if (!isServiceError(error)) throw error
    post({ kind: 'refusal', id, error: { code: error.code, message: error.message } })
  }
  schedule()
})

/** Messages that arrived meanwhile come before the next slice. */
function schedule(): void {
  if (isScheduled) return
  isScheduled = true
  setImmediate(() => {
    isScheduled = false
    if (host.maintain(SLICE_MS)) schedule()
  })
}
