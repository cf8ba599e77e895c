// A server in a thread of its own that answers every request without end, so that what it does is nobody's turn of the
// event loop but its own. This file is both sides: the test's, and the thread's.

import { once } from 'node:events'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'
import { sendEndlessly } from '../worlds/media-files.ts'
import { listen, portOf } from './local-server.ts'

const ADDRESS = '0.0.0.0'

/** Serves until it is disposed of, at every address of this machine. */
export class EndlessServer implements AsyncDisposable {
  readonly port: number
  readonly #worker: Worker
  readonly #begun: Int32Array

  private constructor(worker: Worker, begun: Int32Array, port: number) {
    this.#worker = worker
    this.#begun = begun
    this.port = port
  }

  static async start(): Promise<EndlessServer> {
    const begun = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT))
    const worker = new Worker(new URL(import.meta.url), { workerData: begun })
    const [port] = await once(worker, 'message')
    return new EndlessServer(worker, begun, port)
  }

  /** The answers that have begun. */
  get begunCount(): number {
    return Atomics.load(this.#begun, 0)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#worker.terminate()
  }
}

if (!isMainThread && workerData instanceof Int32Array) {
  const begun = workerData
  const server = await listen(ADDRESS, (_request, response) => {
    Atomics.add(begun, 0, 1)
    sendEndlessly(response)
  })
  const port = parentPort
  port?.postMessage(portOf(server))
}
