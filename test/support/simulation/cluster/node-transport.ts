import type {
  ByteChannel,
  ChannelEvents,
  ChannelListener,
  PeerTransport,
} from '../../../../node/peer/transport.ts'
import type { NodeClock } from './node-clock.ts'

/** What only the two ends of a private connection know. */
const EXPORTER = Buffer.alloc(32, 9)

/** The network of one life of a node: nothing reaches a frozen process, and `end` closes everything. */
export class NodeTransport implements PeerTransport {
  readonly #isPrivate: boolean
  readonly #inner: PeerTransport
  readonly #clock: NodeClock
  readonly #channels = new Set<ByteChannel>()
  #listener: ChannelListener | undefined

  /** With `isPrivate`, connections are as private as those of TLS. */
  constructor(inner: PeerTransport, clock: NodeClock, isPrivate: boolean) {
    this.#isPrivate = isPrivate
    this.#inner = inner
    this.#clock = clock
  }

  async listen(port: number, accept: (channel: ByteChannel) => void): Promise<ChannelListener> {
    if (this.#clock.isOver) return new Promise(() => undefined) // nobody would ever close it
    const listener = await this.#inner.listen(port, (channel) => accept(this.#own(channel)))
    this.#listener = listener
    return listener
  }

  async connect(
    to: { readonly host: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<ByteChannel> {
    return this.#own(await this.#inner.connect(to, signal))
  }

  end(): void {
    void this.#listener?.close()
    for (const channel of this.#channels) channel.destroy()
  }

  #own(channel: ByteChannel): ByteChannel {
    const clock = this.#clock
    if (clock.isOver) channel.destroy()
    this.#channels.add(channel)
    return {
      remote: channel.remote,
      exporter: this.#isPrivate ? EXPORTER : channel.exporter,
      attach: (events: ChannelEvents) =>
        channel.attach({
          onBytes: (bytes) => clock.whenAwake(() => events.onBytes(bytes)),
          onDrain: () => clock.whenAwake(() => events.onDrain()),
          onClosed: (reason) => {
            this.#channels.delete(channel)
            clock.whenAwake(() => events.onClosed(reason))
          },
        }),
      write: (bytes) => (clock.isOver ? true : channel.write(bytes)),
      end: () => channel.end(),
      destroy: () => channel.destroy(),
    }
  }
}
