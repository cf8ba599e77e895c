// A network inside one process, for tests and simulations: it loses, delays and cuts as it is told.

import type { Clock } from '../../../lib/clock.ts'
import type { ByteChannel, ChannelEvents, ChannelListener, PeerTransport } from '../transport.ts'

/** Bytes on their way from one end after which `write` asks to wait. */
const FLIGHT_BYTES_MAX = 256 * 1024

/** After this time TCP sends a segment again that got lost, here the one with the end of a stalled connection. */
const LOST_END_MS = 200

/** What happens to bytes from one host to another. Times are in ms. */
export interface Weather {
  readonly delayMs: number
  /** True: they vanish, and so do ends of connections. Both ends stay open until somebody gives up. */
  readonly isBlackHole: boolean
}

const FAIR: Weather = { delayMs: 0, isBlackHole: false }

type Accept = (channel: ByteChannel) => void

/**
 * Hosts that connect to each other.
 *
 * Contract:
 * - Bytes of one direction of a connection keep their order. Those of different connections and
 *   directions do not, if their delays differ.
 * - `weather` holds for one direction, and for what is sent from then on.
 * - `cut` ends all connections between two hosts at once. `cutOneEnd` ends only the end at a host: the
 *   other end hears of it like of an ordinary end, after its delay, or never through a black hole.
 * - `stall` holds up one direction of the connections that there are. All of it arrives in order after the
 *   stall, also if the sending end has been closed meanwhile; the end of the connection follows 200 ms later.
 *   Other connections flow.
 */
export class MemoryNetwork {
  readonly #clock: Clock
  readonly #listeners = new Map<string, Accept>()
  readonly #weather = new Map<string, Weather>()
  readonly #ends = new Set<ChannelEnd>()
  #nextPort = 1

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** The transport of a host. */
  host(name: string): PeerTransport {
    return {
      listen: async (port, accept) => this.#listen(name, port, accept),
      connect: (to, signal) => this.#connect(name, to, signal),
    }
  }

  weather(from: string, to: string, weather: Partial<Weather>): void {
    this.#weather.set(`${from} ${to}`, { ...this.weatherOf(from, to), ...weather })
  }

  weatherOf(from: string, to: string): Weather {
    return this.#weather.get(`${from} ${to}`) ?? FAIR
  }

  cut(a: string, b: string): void {
    for (const end of this.#ends) {
      if (end.isBetween(a, b)) end.close('the connection was cut')
    }
  }

  cutOneEnd(at: string, to: string): void {
    for (const end of this.#ends) {
      if (end.host === at && end.otherHost === to) end.destroy()
    }
  }

  /** Answers how to end the stall. */
  stall(from: string, to: string): () => void {
    const stalled = [...this.#ends].filter(
      ({ host, otherHost }) => host === from && otherHost === to,
    )
    for (const end of stalled) end.stall()
    return () => {
      for (const end of stalled) end.flow()
    }
  }

  /** Changes a bit in the middle of what one host sends to another next. */
  corruptNext(from: string, to: string): void {
    for (const end of this.#ends) {
      if (end.host === from && end.otherHost === to) end.isCorrupting = true
    }
  }

  #listen(host: string, port: number, accept: Accept): ChannelListener {
    const bound = port === 0 ? this.#nextPort++ : port
    const name = `${host}:${bound}`
    if (this.#listeners.has(name)) throw new Error(`${name} is taken`)
    this.#listeners.set(name, accept)
    return {
      port: bound,
      close: async () => void this.#listeners.delete(name),
    }
  }

  async #connect(
    from: string,
    to: { readonly host: string; readonly port: number },
    signal: AbortSignal,
  ): Promise<ByteChannel> {
    const weather = this.weatherOf(from, to.host)
    const back = this.weatherOf(to.host, from)
    if (weather.isBlackHole || back.isBlackHole) await this.#clock.sleep(2 ** 30, signal)
    const delayMs = weather.delayMs + back.delayMs
    if (delayMs > 0) await this.#clock.sleep(delayMs, signal)
    signal.throwIfAborted()
    const accept = this.#listeners.get(`${to.host}:${to.port}`)
    if (accept === undefined) throw new Error('connection refused')
    const near = new ChannelEnd(this, { host: from, other: to.host, clock: this.#clock })
    const far = new ChannelEnd(this, { host: to.host, other: from, clock: this.#clock })
    near.join(far)
    far.join(near)
    for (const end of [near, far]) this.#add(end)
    accept(far)
    return near
  }

  #add(end: ChannelEnd): void {
    this.#ends.add(end)
    end.onGone = () => void this.#ends.delete(end)
  }
}

interface Ends {
  readonly host: string
  readonly other: string
  readonly clock: Clock
}

class ChannelEnd implements ByteChannel {
  readonly host: string
  readonly otherHost: string
  readonly remote: string
  readonly exporter = undefined
  isCorrupting = false
  onGone: () => void = () => undefined
  readonly #network: MemoryNetwork
  readonly #clock: Clock
  #other: ChannelEnd | undefined
  #events: ChannelEvents | undefined
  /** What came before somebody listened. */
  #early: (Uint8Array | string)[] = []
  #isClosed = false
  #hasEnded = false
  #flightBytes = 0
  /** Set while nothing leaves this end. */
  #stalled: PromiseWithResolvers<void> | undefined
  /** Each delivery waits for the one before, so that bytes keep their order. */
  #lastDelivery: Promise<void> = Promise.resolve()

  constructor(network: MemoryNetwork, { host, other, clock }: Ends) {
    this.#network = network
    this.host = host
    this.otherHost = other
    this.remote = other
    this.#clock = clock
  }

  join(other: ChannelEnd): void {
    this.#other = other
  }

  isBetween(a: string, b: string): boolean {
    return [this.host, this.otherHost].toSorted().join() === [a, b].toSorted().join()
  }

  attach(events: ChannelEvents): void {
    this.#events = events
    for (const early of this.#early.splice(0)) this.receive(early)
  }

  write(bytes: Uint8Array): boolean {
    if (this.#isClosed || this.#hasEnded) return false
    this.#flightBytes += bytes.length
    this.#deliver(this.#corrupted(Buffer.from(bytes)), () => {
      const wasFull = this.#flightBytes >= FLIGHT_BYTES_MAX
      this.#flightBytes -= bytes.length
      if (wasFull && this.#flightBytes < FLIGHT_BYTES_MAX && !this.#isClosed) {
        this.#events?.onDrain()
      }
    })
    return this.#flightBytes < FLIGHT_BYTES_MAX
  }

  end(): void {
    if (this.#hasEnded || this.#isClosed) return
    this.#hasEnded = true
    this.#deliver('the other end closed the connection', () => this.close('closed'))
  }

  destroy(): void {
    if (this.#isClosed) return
    this.#deliver('the other end closed the connection', () => undefined)
    this.close('closed')
  }

  stall(): void {
    this.#stalled ??= Promise.withResolvers()
  }

  flow(): void {
    this.#stalled?.resolve()
    this.#stalled = undefined
  }

  /** This end alone, and now. */
  close(reason: string): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onGone()
    // Later, as with a socket: the caller of `destroy` has not ended its own work.
    queueMicrotask(() => this.#events?.onClosed(reason))
  }

  /** Bytes, or the reason of the end. */
  receive(what: Uint8Array | string): void {
    if (this.#isClosed) return
    if (this.#events === undefined) this.#early.push(what)
    else if (typeof what === 'string') this.close(what)
    else this.#events.onBytes(what)
  }

  #deliver(what: Uint8Array | string, onDone: () => void): void {
    const { delayMs, isBlackHole } = this.#network.weatherOf(this.host, this.otherHost)
    const isStalled = this.#stalled !== undefined
    const due = delayMs > 0 ? this.#clock.sleep(delayMs) : Promise.resolve()
    const before = this.#lastDelivery
    this.#lastDelivery = (async () => {
      await before
      await due
      while (this.#stalled !== undefined) await this.#stalled.promise
      if (isStalled && typeof what === 'string') await this.#clock.sleep(LOST_END_MS)
      if (isBlackHole) return // and its bytes count as in flight
      this.#other?.receive(what)
      onDone()
    })()
  }

  #corrupted(bytes: Buffer): Buffer {
    if (!this.isCorrupting || bytes.length === 0) return bytes
    this.isCorrupting = false
    const middle = bytes.length >> 1
    bytes[middle] = (bytes[middle] ?? 0) ^ 1
    return bytes
  }
}
