/**
 * The events of a channel. `onBytes` may be called before `attach` returns. `onClosed` comes once and
 * last, also after `destroy`.
 */
export interface ChannelEvents {
  onBytes(bytes: Uint8Array): void
  /** More may be written after a `write` that answered false. */
  onDrain(): void
  onClosed(reason: string): void
}

/**
 * Bytes in order between two nodes: a TCP or TLS connection, or a fake of one.
 *
 * Contract:
 * - Bytes arrive once and in order, or the channel ends.
 * - `write` takes all bytes, which the caller must not change afterwards. It answers false if the
 *   caller should wait for `onDrain`. After the end it does nothing.
 * - `end` closes after everything that was written. `destroy` closes at once.
 */
export interface ByteChannel {
  /** The other end for people, such as `127.0.0.1:4100`. */
  readonly remote: string
  /** A secret that only the two ends of this very TLS connection know. Undefined without TLS. */
  readonly exporter: Buffer | undefined
  attach(events: ChannelEvents): void
  write(bytes: Uint8Array): boolean
  end(): void
  destroy(): void
}

/** Accepts channels until it is closed. The channels that it accepted stay open. */
export interface ChannelListener {
  readonly port: number
  close(): Promise<void>
}

/** How channels come about. */
export interface PeerTransport {
  /** Port 0: any free port. */
  listen(port: number, accept: (channel: ByteChannel) => void): Promise<ChannelListener>
  /** Rejects with the signal's reason when that aborts, and with an Error that says why otherwise. */
  connect(
    to: { readonly host: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<ByteChannel>
}
