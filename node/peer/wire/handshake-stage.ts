import { ServiceError } from '../../../lib/errors.ts'
import { HANDSHAKE_BYTES_MAX } from './handshake-codec.ts'
import type { ByteChannel, ChannelEvents } from '../transport.ts'

const LENGTH_BYTES = 4

/**
 * A channel before both sides know each other: it takes one short message after the other. The bytes
 * that follow the last one belong to the connection that takes over.
 */
export class HandshakeStage implements ChannelEvents {
  readonly #channel: ByteChannel
  /** The most bytes that may wait before a reader asks for them. */
  readonly #waitingBytesMax: number
  #bytes = Buffer.alloc(0)
  #closed: string | undefined
  #asked: PromiseWithResolvers<Buffer> | undefined
  #successor: ChannelEvents | undefined

  constructor(channel: ByteChannel, waitingBytesMax: number) {
    this.#channel = channel
    this.#waitingBytesMax = waitingBytesMax
    channel.attach(this)
  }

  get exporter(): Buffer | undefined {
    return this.#channel.exporter
  }

  send(message: Buffer): void {
    this.#channel.write(message)
  }

  /** The next message with its length. Rejects with a ServiceError when the channel ends. */
  next(): Promise<Buffer> {
    this.#asked = Promise.withResolvers()
    const { promise } = this.#asked
    this.#settle()
    return promise
  }

  /** Passes the waiting bytes, and everything from now on, to the connection. */
  handOver(successor: ChannelEvents): void {
    this.#successor = successor
    const waiting = this.#bytes
    this.#bytes = Buffer.alloc(0)
    if (waiting.length > 0) successor.onBytes(waiting)
    if (this.#closed !== undefined) successor.onClosed(this.#closed)
  }

  onBytes(bytes: Uint8Array): void {
    if (this.#successor !== undefined) return this.#successor.onBytes(bytes)
    if (this.#closed !== undefined) return
    if (this.#bytes.length + bytes.length > this.#waitingBytesMax) {
      return this.#fail('it sent more than a handshake has')
    }
    this.#bytes = Buffer.concat([this.#bytes, bytes])
    this.#settle()
  }

  onDrain(): void {
    this.#successor?.onDrain()
  }

  onClosed(reason: string): void {
    if (this.#successor !== undefined) return this.#successor.onClosed(reason)
    this.#closed ??= reason
    this.#settle()
  }

  #settle(): void {
    const asked = this.#asked
    if (asked === undefined) return
    const length = this.#messageLength()
    if (length !== undefined && length > HANDSHAKE_BYTES_MAX + LENGTH_BYTES) {
      return this.#fail('it sent something else than a handshake')
    }
    if (length !== undefined && this.#bytes.length >= length) {
      this.#asked = undefined
      const message = this.#bytes.subarray(0, length)
      this.#bytes = this.#bytes.subarray(length)
      return asked.resolve(message)
    }
    if (this.#closed === undefined) return
    this.#asked = undefined
    asked.reject(new ServiceError('CORRUPTION', `the handshake ended: ${this.#closed}`))
  }

  /** With the length itself. Undefined while that is incomplete. */
  #messageLength(): number | undefined {
    if (this.#bytes.length < LENGTH_BYTES) return undefined
    return LENGTH_BYTES + this.#bytes.readUInt32BE()
  }

  #fail(reason: string): void {
    this.#bytes = Buffer.alloc(0)
    this.#closed = reason
    this.#channel.destroy()
    this.#settle()
  }
}
