// A body on its way: what has arrived, within bounds and charged to the request's holding.

import type { IncomingMessage } from 'node:http'
import { systemClock } from '../clock.ts'
import { ServiceError } from '../errors.ts'
import { runSliced } from '../sliced.ts'
import { ByteCollector } from './byte-collector.ts'
import { Pace, type HeldMemory, type Upload } from './request-memory.ts'

const EMPTY = Buffer.alloc(0)

/** The bytes as they were sent. Refused: PAYLOAD_TOO_LARGE, OVERLOADED, CANCELLED. */
export function receive(
  request: IncomingMessage,
  bytesMax: number,
  memory: HeldMemory | undefined,
): Promise<Buffer> {
  // Nothing was announced: see SERVER_OPTIONS.
  if (request.readableEnded) return Promise.resolve(EMPTY)
  const declared = Number(request.headers['content-length'] ?? 0)
  if (declared > bytesMax) {
    request.resume()
    return Promise.reject(tooLarge(bytesMax))
  }
  return new Promise((resolve, reject) => {
    const arrival = new Arrival({ declared, bytesMax, memory, reject })
    // Chunks of a body that was refused are thrown away, so that the client can read the refusal.
    request.on('data', (chunk: Buffer) => arrival.add(chunk))
    request.once('end', () => resolve(arrival.finish()))
    const gone = (): void => {
      // The request also closes after its end; an error with its stack would be made for nothing.
      if (!request.complete) arrival.giveUp(new ServiceError('CANCELLED', 'the client went away'))
    }
    request.once('error', gone)
    request.once('close', gone)
  })
}

interface ArrivalOptions {
  /** The bytes that the client announces; 0 if it announces none. */
  readonly declared: number
  readonly bytesMax: number
  readonly memory: HeldMemory | undefined
  readonly reject: (reason: unknown) => void
}

/** A body on its way. */
class Arrival implements Upload {
  readonly #with: ArrivalOptions
  readonly #bytes: ByteCollector
  #pace: Pace | undefined
  #isOver = false

  constructor(options: ArrivalOptions) {
    this.#with = options
    this.#bytes = new ByteCollector(options.declared)
  }

  add(chunk: Buffer): void {
    if (this.#isOver) return
    const { bytesMax, memory } = this.#with
    if (this.#bytes.length + chunk.length > bytesMax) return this.giveUp(tooLarge(bytesMax))
    try {
      memory?.add(chunk.length)
    } catch (error) {
      return this.giveUp(error)
    }
    // A body of one chunk is whole before anybody could want its place.
    if (this.#bytes.length > 0) this.#notePace(chunk.length)
    this.#bytes.add(chunk)
  }

  /** Has no effect if the body was given up before. */
  finish(): Promise<Buffer> | Buffer {
    this.#end()
    return joinBody(this.#bytes, this.#with.memory)
  }

  giveUp(reason: unknown): void {
    if (this.#isOver) return
    this.#end()
    this.#with.memory?.release(this.#bytes.length)
    this.#bytes.free()
    this.#with.reject(reason)
  }

  isSlow(nowMs: number): boolean {
    return this.#pace?.isSlow(nowMs) ?? false
  }

  #notePace(bytes: number): void {
    const budget = this.#with.memory?.budget
    if (budget === undefined) return
    const nowMs = budget.clock.monotonicMs()
    if (this.#pace === undefined) {
      this.#pace = new Pace(nowMs)
      budget.watch(this)
    }
    this.#pace.note(bytes, nowMs)
  }

  #end(): void {
    this.#isOver = true
    this.#with.memory?.budget.forget(this)
  }
}

/** All that was collected. While it is put together, a body is there twice. */
export function joinBody(
  bytes: ByteCollector,
  memory: HeldMemory | undefined,
): Buffer | Promise<Buffer> {
  return bytes.whole() ?? joined(bytes, memory)
}

async function joined(bytes: ByteCollector, memory: HeldMemory | undefined): Promise<Buffer> {
  const { length } = bytes
  memory?.add(length)
  const whole = await runSliced(bytes.join(), { clock: systemClock })
  bytes.free()
  memory?.release(length)
  return whole
}

export function tooLarge(bytesMax: number): ServiceError {
  const limit = bytesMax >= 2 ** 20 ? `${bytesMax / 2 ** 20} MiB` : `${bytesMax} bytes`
  return new ServiceError('PAYLOAD_TOO_LARGE', `the body is larger than ${limit}; send it in parts`)
}
