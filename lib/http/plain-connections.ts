// Connections on which plain requests come one after the other (plain-request.ts), ahead of node:http.
//
//   fresh ──plain request──► serving ──answered──► idle ──plain request──► serving
//     └─── any other bytes ─────┴────────────────────┴──► node:http, for the rest of the connection
//
// Invariants:
//   PC1  node:http gets every byte of a connection that this file has not answered, in order.
//   PC2  At most one request of a connection is served at a time. What comes meanwhile waits in the socket, and node:http
//        reads it after the answer.
//   PC3  A connection whose client does not take an answer serves no further request until it has.

import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { Clock } from '../clock.ts'
import { parsePlainRequest, type PlainRequest } from './plain-request.ts'

const SECOND_MS = 1000
/** As node:http: what its header Keep-Alive promises, and a second for requests on their way. */
const KEEP_ALIVE_S = 5
const IDLE_MAX_S = KEEP_ALIVE_S + 1
/** A connection on which nothing has come gets the answer that node:http gives. */
const FRESH_MAX_S = 60

/** Serves a plain request, or answers false and has done nothing. It answers by `connection.send`, once. */
export type ServePlain = (request: PlainRequest, connection: PlainConnection) => boolean

interface PlainParts {
  readonly serve: ServePlain
  /** Seconds since the server has begun, by its timer. */
  readonly beat: { readonly seconds: number }
  readonly ends: HeadEnds
  /** Makes the connection one of node:http. */
  readonly handOver: (socket: Socket) => void
  readonly onSilence: (socket: Socket) => void
}

/** The connections of a server that node:http has not got. */
export class PlainConnections {
  readonly #open = new Set<PlainConnection>()
  readonly #beat = { seconds: 0 }

  /** Takes new connections ahead of node:http, which is the listener of `server` so far. */
  constructor(
    server: Server,
    { serve, clock }: { readonly serve: ServePlain; readonly clock: Clock },
  ) {
    const listeners = server.listeners('connection')
    server.removeAllListeners('connection')
    const parts: PlainParts = {
      serve,
      beat: this.#beat,
      ends: new HeadEnds(clock),
      handOver: (socket) => {
        for (const listener of listeners) Reflect.apply(listener, server, [socket])
      },
      onSilence: (socket) => {
        const error = Object.assign(new Error('no request came'), {
          code: 'ERR_HTTP_REQUEST_TIMEOUT',
        })
        server.emit('clientError', error, socket)
      },
    }
    server.on('connection', (socket) => {
      const connection = new PlainConnection(socket, parts, () => this.#open.delete(connection))
      this.#open.add(connection)
    })
    // One timer for all: a timer of each socket would be set anew at each request and at each answer.
    // A server that cannot listen, because its port is in use, is never closed: its timer would keep the process.
    server.once('listening', () => {
      const stop = clock.every(SECOND_MS, async () => this.#look())
      server.once('close', () => void stop())
    })
  }

  #look(): void {
    this.#beat.seconds += 1
    for (const connection of this.#open) connection.endIfSilent()
  }

  /** Ends the connections that wait for a request. */
  closeIdle(): void {
    for (const connection of this.#open) if (connection.isIdle) connection.destroy()
  }

  closeAll(): void {
    for (const connection of this.#open) connection.destroy()
  }
}

/** One connection until node:http gets it or it ends. */
export class PlainConnection {
  readonly #socket: Socket
  readonly #parts: PlainParts
  readonly #onLeft: () => void
  readonly #onData = (chunk: Buffer): void => this.#take(chunk)
  readonly #onTimeout = (): void => {
    if (this.#state === 'sending') this.destroy()
  }
  readonly #onEnd = (): void => void this.#socket.end()
  readonly #onClose = (): void => this.#closed()
  #state: 'fresh' | 'idle' | 'serving' | 'sending' = 'fresh'
  /** By the beat: when the connection was opened, or answered last. */
  #since: number
  /** What came while a request was served. */
  #early: Buffer | undefined
  #onGone: (() => void) | undefined

  /** `onLeft` is called when the connection has ended or is one of node:http. */
  constructor(socket: Socket, parts: PlainParts, onLeft: () => void) {
    this.#socket = socket
    this.#parts = parts
    this.#onLeft = onLeft
    this.#since = parts.beat.seconds
    socket.on('data', this.#onData)
    socket.on('end', this.#onEnd)
    socket.on('timeout', this.#onTimeout)
    socket.on('close', this.#onClose)
    socket.on('error', this.destroy)
  }

  get isIdle(): boolean {
    const waits = this.#state === 'fresh' || this.#state === 'idle'
    return waits && this.#socket.writableLength === 0
  }

  get isGone(): boolean {
    return this.#socket.destroyed
  }

  /** Calls `listener` if the client leaves before the answer; at once if it has left. */
  whenGone(listener: () => void): void {
    if (this.isGone) listener()
    else this.#onGone = listener
  }

  /** Sends the answer to the request that is served. The head lacks only the headers of the connection. */
  send(head: string, body: Buffer): void {
    if (this.isGone) return
    const text = head + this.#parts.ends.now() + body.toString('latin1')
    if (this.#socket.write(text, 'latin1')) this.#answered()
    else this.#socket.once('drain', () => this.#answered())
  }

  /** The same for a long body. Resolves when it has left, or the client has gone or takes nothing for `writeTimeoutMs`. */
  sendLong(
    head: string,
    { body, writeTimeoutMs }: { readonly body: Buffer; readonly writeTimeoutMs: number },
  ): Promise<void> {
    if (this.isGone) return Promise.resolve()
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#state = 'sending'
    this.#socket.setTimeout(writeTimeoutMs)
    this.#socket.write(head + this.#parts.ends.now(), 'latin1')
    this.#socket.write(body, () => {
      resolve()
      this.#socket.setTimeout(0)
      if (!this.isGone) this.#answered()
    })
    return promise
  }

  readonly destroy = (): void => {
    this.#socket.destroy()
  }

  /** Called once a second. A connection that is just over its time may have a second more. */
  endIfSilent(): void {
    const silentS = this.#parts.beat.seconds - this.#since
    if (this.#state === 'fresh' && silentS > FRESH_MAX_S) this.#parts.onSilence(this.#socket)
    else if (this.#state === 'idle' && silentS > IDLE_MAX_S && this.isIdle) this.destroy()
  }

  #take(chunk: Buffer): void {
    if (this.#state === 'serving' || this.#state === 'sending') {
      this.#socket.pause()
      this.#early = this.#early === undefined ? chunk : Buffer.concat([this.#early, chunk])
      return
    }
    const request = parsePlainRequest(chunk)
    const before = this.#state
    this.#state = 'serving'
    if (request !== undefined && this.#parts.serve(request, this)) return
    this.#state = before
    this.#handOver(chunk)
  }

  #answered(): void {
    this.#state = 'idle'
    this.#onGone = undefined
    this.#since = this.#parts.beat.seconds
    const early = this.#early
    this.#early = undefined
    if (early !== undefined) this.#handOver(early)
  }

  /** PC1. */
  #handOver(unread: Buffer): void {
    const socket = this.#socket
    socket.pause()
    socket.off('data', this.#onData)
    socket.off('end', this.#onEnd)
    socket.off('timeout', this.#onTimeout)
    socket.off('close', this.#onClose)
    socket.off('error', this.destroy)
    socket.unshift(unread)
    this.#onLeft()
    this.#parts.handOver(socket)
    socket.resume()
  }

  #closed(): void {
    this.#onLeft()
    this.#onGone?.()
  }
}

/** The last headers of an answer, which name the second. */
class HeadEnds {
  readonly #clock: Clock
  #second = NaN
  #text = ''

  constructor(clock: Clock) {
    this.#clock = clock
  }

  now(): string {
    const nowMs = this.#clock.nowMs()
    const second = Math.floor(nowMs / SECOND_MS)
    if (second !== this.#second) {
      this.#second = second
      const date = new Date(nowMs).toUTCString()
      const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_S}`
      this.#text = `Date: ${date}\r\n${keepAlive}\r\n\r\n`
    }
    return this.#text
  }
}
