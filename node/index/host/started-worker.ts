// How the thread of an index worker is started. The pool knows workers by this alone, so that a simulation can
// run one in its own process.

import { Worker } from 'node:worker_threads'
import type { FromIndexWorker, IndexWorkerSettings } from './protocol.ts'

/** What a running worker tells those who started it. */
export interface WorkerEvents {
  onMessage(message: FromIndexWorker<never>): void
  /** A message that cannot be read. */
  onMessageError(error: Error): void
  /** The worker is about to end by this error. */
  onError(error: unknown): void
  /** Called once, however it ended. No other event follows. */
  onExit(): void
}

/** A worker that runs, or is starting. */
export interface StartedWorker {
  /** A `ToIndexWorker` or `ToldWorker`. They arrive in their order; what a worker that ended is sent is lost. */
  post(message: object, transfer: readonly ArrayBuffer[]): void
  /** Ends the worker where it stands; resolves when it has ended. */
  terminate(): Promise<void>
}

export type StartWorker = (settings: IndexWorkerSettings, events: WorkerEvents) => StartedWorker

/** Workers are threads that run this file. */
export function threadsOf(entry: URL): StartWorker {
  return (settings, events) => {
    const worker = new Worker(entry, { name: 'indexes', workerData: settings })
    worker.on('message', (message: FromIndexWorker<never>) => events.onMessage(message))
    worker.on('messageerror', (error) => events.onMessageError(error))
    worker.on('error', (error) => events.onError(error))
    worker.on('exit', () => events.onExit())
    return {
      post: (message, transfer) => worker.postMessage(message, transfer),
      terminate: async () => void (await worker.terminate()),
    }
  }
}
