// A TCP proxy that loses, holds back and cuts what passes through it.

import { once } from 'node:events'
import net from 'node:net'
import { resetSocket } from './reset-socket.ts'

/** `hold` keeps the bytes until `release`; `drop` loses them. */
export type Passage = 'pass' | 'hold' | 'drop'

export interface Passages {
  readonly toServer: Passage
  readonly toClient: Exclude<Passage, 'hold'>
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
      void link.closed.then(() => this.#links.delete(link))
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

  /** Bytes that wait for `release` on their way to the server. */
  get heldToServer(): number {
    return [...this.#links].reduce((sum, link) => sum + link.heldToServer, 0)
  }

  /** Bytes of the server that were dropped since the last `set`. */
  get droppedToClient(): number {
    return [...this.#links].reduce((sum, link) => sum + link.droppedToClient, 0)
  }

  /** Connections stay, and new ones are accepted; bytes do what is said. */
  set(passages: Partial<Passages>): void {
    this.#passages = { ...OPEN, ...passages }
    for (const link of this.#links) link.droppedToClient = 0
  }

  /** Passes on what was held, also when the client has left meanwhile. */
  release(): void {
    for (const link of this.#links) link.release()
  }

  /** Nothing passes and nobody hears of it. */
  blackHole(): void {
    this.set({ toServer: 'drop', toClient: 'drop' })
  }

  /** Lets everything pass again. Connections that have lost or held bytes are reset. */
  heal(): void {
    this.set(OPEN)
    for (const link of this.#links) if (link.isDamaged) link.reset()
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
  /** When both sides have ended. */
  readonly closed: Promise<unknown>
  readonly #client: net.Socket
  readonly #server: net.Socket
  readonly #passages: () => Passages
  #held: Buffer[] = []
  #hasLost = false
  droppedToClient = 0

  constructor(client: net.Socket, targetPort: number, passages: () => Passages) {
    this.#client = client
    this.#server = net.connect(targetPort, '127.0.0.1')
    this.#passages = passages
    for (const socket of [client, this.#server]) socket.on('error', () => undefined)
    client.on('data', (chunk) => this.#toServer(chunk))
    this.#server.on('data', (chunk) => this.#toClient(chunk))
    // The end of one side does not pass either while its bytes do not.
    client.on('close', () => this.#passages().toServer === 'pass' && this.#server.end())
    this.#server.on('close', () => this.#passages().toClient === 'pass' && client.destroy())
    this.closed = Promise.all([client, this.#server].map(whenClosed))
  }

  get heldToServer(): number {
    return Buffer.concat(this.#held).length
  }

  get isDamaged(): boolean {
    return this.#hasLost || this.#held.length > 0
  }

  release(): void {
    for (const chunk of this.#held) this.#server.write(chunk)
    this.#held = []
  }

  reset(): void {
    resetSocket(this.#client)
    resetSocket(this.#server)
  }

  #toServer(chunk: Buffer): void {
    const { toServer } = this.#passages()
    if (toServer === 'pass') this.#server.write(chunk)
    else if (toServer === 'hold') this.#held.push(chunk)
    else this.#hasLost = true
  }

  #toClient(chunk: Buffer): void {
    if (this.#passages().toClient === 'pass') return void this.#client.write(chunk)
    this.#hasLost = true
    this.droppedToClient += chunk.length
  }
}

/** An error, with which `once` of node:events would reject, is an end too. */
function whenClosed(socket: net.Socket): Promise<void> {
  return new Promise((resolve) => socket.once('close', () => resolve()))
}
