// One kept-alive connection without pipelining. On two cores, the generator must use less time than the
// server that it measures, so it does not use a general HTTP client.

import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { assert } from '../../lib/assert.ts'
import { ResponseReader } from './response-reader.ts'
import type { Answer } from './response-reader.ts'

interface Waiter {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** One connection that sends one request at a time. */
export class HttpConnection {
  readonly #socket: Socket
  readonly #reader = new ResponseReader()
  #waiter: Waiter | undefined

  static async open(origin: string): Promise<HttpConnection> {
    const { hostname, port } = new URL(origin)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    return new HttpConnection(socket)
  }

  private constructor(socket: Socket) {
    this.#socket = socket
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  exchange(request: Buffer): Promise<Answer> {
    assert(this.#waiter === undefined, 'one request at a time')
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      this.#socket.write(request)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #take(chunk: Buffer): void {
    try {
      const answer = this.#reader.push(chunk)
      if (answer !== undefined) this.#settle()?.resolve(answer)
    } catch (error) {
      this.#fail(error)
    }
  }

  #fail(error: unknown): void {
    this.#settle()?.reject(error)
  }

  #settle(): Waiter | undefined {
    const waiter = this.#waiter
    this.#waiter = undefined
    return waiter
  }
}
