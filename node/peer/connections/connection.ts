// A connection after the handshake: records in, records out, and the watch over silence.
//
// Invariants:
//   PC1  Bytes that break a rule of the protocol end the connection, and no handler sees them.
//   PC2  `onLost` comes once, and no frame after it.

import type { Clock } from '../../../lib/clock.ts'
import { isServiceError } from '../../../lib/errors.ts'
import { decodeFrames, decodeU32, encodeFrame, encodeU32, FRAME } from '../wire/frame-codec.ts'
import type { Frame } from '../wire/frame-codec.ts'
import type { Session } from '../wire/handshake.ts'
import type { NumberStream } from '../streams/outbound-stream.ts'
import { SendQueue } from '../streams/send-queue.ts'
import type { ByteChannel, ChannelEvents } from '../transport.ts'

/** A silence is noticed after that many quiet periods. A late timer alone never makes one. */
const QUIET_PERIODS_MAX = 4

/**
 * Failures and credits that wait. A node that keeps to the protocol has at most `streamsMax` calls,
 * whose failures take half of it.
 */
const SHORT_BYTES_MAX = 4 * 1024 * 1024

/** What a connection does with frames: one for the side that calls, one for the side that serves. */
export interface ConnectionSide {
  /** Throws CORRUPTION for a frame that breaks a rule. */
  onFrame(frame: Frame): void
  onLost(reason: string): void
}

/** The parts of a connection. */
export interface ConnectionOptions {
  readonly channel: ByteChannel
  readonly session: Session
  readonly clock: Clock
  readonly numberStream: NumberStream
}

/** One authenticated connection. */
export class PeerConnection implements ChannelEvents {
  readonly session: Session
  readonly queue: SendQueue
  readonly #channel: ByteChannel
  readonly #side: ConnectionSide
  readonly #stopWatch: () => Promise<void>
  #isWritable = true
  #isScheduled = false
  #isGathering = false
  #isLost = false
  #isEnding = false
  #quietPeriods = 0
  #hasSent = false

  constructor({ channel, session, clock, numberStream }: ConnectionOptions, side: ConnectionSide) {
    this.session = session
    this.#channel = channel
    this.#side = side
    this.queue = new SendQueue(numberStream)
    const { ours, theirs } = session
    const periodMs = Math.min(ours.silenceMs, theirs.silenceMs) / QUIET_PERIODS_MAX
    const quietMax = Math.ceil(ours.silenceMs / periodMs)
    this.#stopWatch = clock.every(periodMs, async () => this.#watch(quietMax))
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** Writes what the queue holds, after what the present callback of the event loop does. */
  schedule(): void {
    if (this.#isScheduled || this.#isLost) return
    this.#isScheduled = true
    process.nextTick(() => {
      this.#isScheduled = false
      this.#flush()
    })
  }

  /**
   * Writes what the queue holds, after what all callbacks of this turn of the event loop do: each request of a
   * client is a callback of its own, and a record with several calls costs little more than one with a call.
   */
  gather(): void {
    if (this.#isGathering || this.#isLost) return
    this.#isGathering = true
    setImmediate(() => {
      this.#isGathering = false
      this.#flush()
    })
  }

  sendShort(frame: Buffer): void {
    this.queue.addShort(frame)
    if (this.queue.shortBytes > SHORT_BYTES_MAX) this.close('the other node does not read')
    else this.schedule()
  }

  credit(stream: number, bytes: number): void {
    this.sendShort(encodeFrame({ type: FRAME.credit, stream, body: encodeU32(bytes) }))
  }

  /** Closes in order, when everything that is queued is written. */
  end(): void {
    this.#isEnding = true
    this.schedule()
  }

  /** Closes at once. */
  close(reason: string): void {
    if (this.#isLost) return
    this.#channel.destroy()
    this.onClosed(reason)
  }

  onBytes(bytes: Uint8Array): void {
    if (this.#isLost) return
    this.#quietPeriods = 0
    try {
      this.session.opener.push(bytes, (frames) => this.#takeFrames(frames))
    } catch (error) {
      if (!isServiceError(error)) throw error
      this.close(error.message)
    }
  }

  onDrain(): void {
    this.#isWritable = true
    this.schedule()
  }

  onClosed(reason: string): void {
    if (this.#isLost) return
    this.#isLost = true
    void this.#stopWatch()
    this.#side.onLost(reason)
  }

  #takeFrames(frames: Buffer): void {
    decodeFrames(frames, (frame) => {
      if (!this.#isLost && frame.type !== FRAME.ping) this.#side.onFrame(frame)
    })
  }

  #flush(): void {
    while (this.#isWritable && !this.#isLost) {
      const plan = this.queue.plan()
      if (plan === undefined) break
      const record = this.session.sealer.seal(plan.length, (frames) => plan.write(frames))
      this.#hasSent = true
      this.#isWritable = this.#channel.write(record)
    }
    if (this.#isEnding && !this.#isLost && this.queue.isEmpty) this.#channel.end()
  }

  #watch(quietMax: number): void {
    this.#quietPeriods += 1
    if (this.#quietPeriods > quietMax) {
      this.close(`node ${this.session.peer} was silent for ${this.session.ours.silenceMs} ms`)
    } else if (!this.#hasSent && this.#isWritable) {
      this.sendShort(encodeFrame({ type: FRAME.ping }))
    }
    this.#hasSent = false
  }
}

/** The bytes that a `credit` frame grants. */
export function creditOf({ body }: Frame): number {
  return decodeU32(body)
}
