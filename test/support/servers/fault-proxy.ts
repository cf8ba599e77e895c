// A TCP proxy that loses, holds back and cuts what passes through it.

import { once } from 'node:events'
import net from 'node:net'

/** `hold` keeps the bytes for later; `drop` loses them, and with them the connection's future. */
export type Passage = 'pass' | 'hold' | 'drop'

export interface Passages {
  readonly toServer: Passage
  readonly toClient: Passage
}

const OPEN: Passages = { toServer: 'pass', toClient: 'pass' }

/** Forwards connections from a port of its own to another port of 127.0.0.1. */
export class FaultProxy implements AsyncDisposable {
  readonly #server: net.Server
  readonly #links = new Set<Link>()
  #passages = OPEN

  private constructor(targetPort: number) {
    this.#server = net.createServer((client) => {
      const link = new Link(client, targetPort, () => this.#passages)
      this.#links.add(link)
      client.on('close', () => this.#links.delete(link))
    })
  }

  static async open(targetPort: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(targetPort)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  get port(): number {
    const address = this.#server.address()
    return typeof address === 'object' && address !== null ? address.port : 0
  }

  /** How many connections there are now. */
  get connections(): number {
    return this.#links.size
  }

  /** Bytes that came from the server and were not passed on since the last change. */
  get keptFromClient(): number {
    return [...this.#links].reduce((sum, link) => sum + link.keptFromClient, 0)
  }

  /** Connections stay, and new ones are accepted; bytes do what is said. */
  set(passages: Partial<Passages>): void {
    this.#passages = { ...OPEN, ...passages }
    for (const link of this.#links) link.update()
  }

  /** Nothing passes and nobody hears of it. */
  blackHole(): void {
    this.set({ toServer: 'drop', toClient: 'drop' })
  }

  /** Lets everything pass again. Connections that have lost bytes are reset. */
  heal(): void {
    this.set(OPEN)
  }

  /** Resets the connections of now. */
  cut(): void {
    for (const link of this.#links) link.reset()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close()
    this.cut()
    await Promise.resolve()
  }
}

class Link {
  readonly #client: net.Socket
  readonly #server: net.Socket
  readonly #passages: () => Passages
  #held: { readonly to: net.Socket; readonly chunk: Buffer }[] = []
  #hasLost = false
  keptFromClient = 0

  constructor(client: net.Socket, targetPort: number, passages: () => Passages) {
    this.#client = client
    this.#server = net.connect(targetPort, '127.0.0.1')
    this.#passages = passages
    client.on('data', (chunk) => this.#forward(this.#server, 'toServer', chunk))
    this.#server.on('data', (chunk) => this.#forward(this.#client, 'toClient', chunk))
    for (const socket of [client, this.#server]) {
      socket.on('error', () => undefined)
      socket.on('close', () => this.#closed(socket))
    }
  }

  update(): void {
    const { toServer, toClient } = this.#passages()
    this.keptFromClient = 0
    if (toServer !== 'pass' || toClient !== 'pass') return
    if (this.#hasLost) return this.reset()
    for (const { to, chunk } of this.#held) to.write(chunk)
    this.#held = []
  }

  reset(): void {
    this.#client.resetAndDestroy()
    this.#server.resetAndDestroy()
  }

  #forward(to: net.Socket, way: keyof Passages, chunk: Buffer): void {
    const passage = this.#passages()[way]
    if (passage === 'pass') return void to.write(chunk)
    if (way === 'toClient') this.keptFromClient += chunk.length
    if (passage === 'hold') this.#held.push({ to, chunk })
    else this.#hasLost = true
  }

  /** The end of one side reaches the other unless that way is closed. */
  #closed(socket: net.Socket): void {
    const { toServer, toClient } = this.#passages()
    if (socket === this.#server && toClient === 'pass') this.#client.destroy()
    if (socket === this.#client && (toServer === 'pass' || this.#hasLost)) this.#server.end()
  }
}
