import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import net from 'node:net'
import { termsOf } from '../../../node/peer/peer-limits.ts'
import type { Lane } from '../../../node/peer/peer.ts'
import type { ByteChannel, ChannelEvents } from '../../../node/peer/transport.ts'
import { dialHandshake } from '../../../node/peer/wire/handshake.ts'
import type { Session } from '../../../node/peer/wire/handshake.ts'
import { HandshakeStage } from '../../../node/peer/wire/handshake-stage.ts'
import { TEST_LIMITS, TEST_SECRET } from './peer-world.ts'

/** A socket of somebody who does not keep to the protocol. */
export class RawPeer implements ByteChannel {
  readonly remote = 'raw'
  readonly exporter = undefined
  /** What the node sent, in all. */
  received = Buffer.alloc(0)
  /** What this end sent, in all: to be sent again. */
  sent: Buffer[] = []
  isClosed = false
  readonly #socket: net.Socket

  static async connect(port: number): Promise<RawPeer> {
    const socket = net.connect({ host: '127.0.0.1', port, noDelay: true })
    await once(socket, 'connect')
    return new RawPeer(socket)
  }

  private constructor(socket: net.Socket) {
    this.#socket = socket
    socket.on('data', (bytes: Buffer) => {
      this.received = Buffer.concat([this.received, bytes])
    })
    socket.on('error', () => undefined)
    socket.on('close', () => (this.isClosed = true))
  }

  attach(events: ChannelEvents): void {
    this.#socket.on('data', (bytes: Buffer) => events.onBytes(bytes))
    this.#socket.on('close', () => events.onClosed('closed'))
  }

  write(bytes: Uint8Array): boolean {
    this.sent.push(Buffer.from(bytes))
    return this.#socket.write(bytes)
  }

  /** From now on what the node sends stays in the system's buffers. */
  stopReading(): void {
    this.#socket.pause()
  }

  end(): void {
    this.#socket.end()
  }

  destroy(): void {
    this.#socket.destroy()
  }

  /** A handshake as an honest node makes it; what follows need not be honest. */
  authenticate(to: string, { lane = 'prompt' }: { readonly lane?: Lane } = {}): Promise<Session> {
    const identity = {
      cluster: 'library',
      nodeId: 'rogue',
      versions: { min: 1, max: 1 },
      secrets: () => [TEST_SECRET],
      termsOf: (of: Lane) => termsOf(TEST_LIMITS, of),
      randomBytes,
    }
    return dialHandshake(new HandshakeStage(this, 1024 * 1024), identity, { lane, to })
  }

  /** Frames in a record that the session seals, so that only the frames are wrong. */
  sendFrames(session: Session, frames: Buffer): void {
    this.write(session.sealer.seal(frames.length, (out) => out.set(frames)))
  }
}
