// One kept-alive connection without pipelining. On two cores, the generator must use less time than the
// server that it measures, so it uses no general client of any protocol.

import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'
import { assert } from '../../lib/assert.ts'
import { greetEtcd, numberStream } from './etcd-requests.ts'
import { EtcdAnswerReader } from './etcd-answer-reader.ts'
import { HttpAnswerReader } from './http-answer-reader.ts'
import type { Answer, AnswerReader } from './http-answer-reader.ts'
import { greetPostgres } from './postgres-requests.ts'
import { PostgresAnswerReader } from './postgres-answer-reader.ts'

interface Waiter {
  resolve(answer: Answer): void
  reject(error: unknown): void
}

/** What differs between protocols. */
interface Protocol {
  /** Sent before the first request, and answered once. */
  readonly greeting: Buffer | undefined
  readonly reader: AnswerReader
  /** Changes a request for its place on the connection, counted from 1. */
  readonly prepare: (request: Buffer, place: number) => void
}

function unchanged(): void {
  // These requests are the same everywhere on a connection.
}

/** By the scheme of an origin. */
const PROTOCOLS: Readonly<Record<string, (reply: (bytes: Buffer) => void) => Protocol>> = {
  'http:': () => ({ greeting: undefined, reader: new HttpAnswerReader(), prepare: unchanged }),
  'postgres:': () => ({
    greeting: greetPostgres(),
    reader: new PostgresAnswerReader(),
    prepare: unchanged,
  }),
  'etcd:': (reply) => ({
    greeting: greetEtcd(),
    reader: new EtcdAnswerReader(reply),
    prepare: numberStream,
  }),
}

/** One connection that sends one request at a time. */
export class Connection {
  readonly #socket: Socket
  readonly #protocol: Protocol
  #waiter: Waiter | undefined
  #sent = 0

  /** `origin` is a URL whose scheme names the protocol. */
  static async open(origin: string): Promise<Connection> {
    const { hostname, port, protocol } = new URL(origin)
    const build = PROTOCOLS[protocol]
    assert(build !== undefined, `the load generator speaks ${protocol}`)
    const socket = connect({ host: hostname, port: Number(port), noDelay: true })
    await once(socket, 'connect')
    const connection = new Connection(
      socket,
      build((bytes) => void socket.write(bytes)),
    )
    await connection.#greet()
    return connection
  }

  private constructor(socket: Socket, protocol: Protocol) {
    this.#socket = socket
    this.#protocol = protocol
    socket.on('data', (chunk: Buffer) => this.#take(chunk))
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('the server closed the connection')))
  }

  exchange(request: Buffer): Promise<Answer> {
    this.#sent += 1
    this.#protocol.prepare(request, this.#sent)
    return this.#exchange(request)
  }

  close(): void {
    this.#socket.destroy()
  }

  async #greet(): Promise<void> {
    const { greeting } = this.#protocol
    if (greeting === undefined) return
    const { status, body } = await this.#exchange(greeting)
    assert(status < 300, `the server greets back: ${body.toString('utf8')}`)
  }

  #exchange(bytes: Buffer): Promise<Answer> {
    assert(this.#waiter === undefined, 'one request at a time')
    return new Promise((resolve, reject) => {
      this.#waiter = { resolve, reject }
      this.#socket.write(bytes)
    })
  }

  #take(chunk: Buffer): void {
    try {
      const answer = this.#protocol.reader.push(chunk)
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
