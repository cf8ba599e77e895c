import { once } from 'node:events'
import net from 'node:net'
import { assert } from '../../../lib/assert.ts'
import { resetSocket } from '../servers/reset-socket.ts'

interface Pair {
  readonly near: net.Socket
  readonly far: net.Socket
}

/** Stands before a port of this machine. It can cut connections, and swallow what they carry. */
export class TcpProxy {
  readonly #server: net.Server
  readonly #pairs = new Set<Pair>()
  #isHole = false

  static async open(target: number): Promise<TcpProxy> {
    const proxy = new TcpProxy(target)
    proxy.#server.listen(0, '127.0.0.1')
    await once(proxy.#server, 'listening')
    return proxy
  }

  private constructor(target: number) {
    this.#server = net.createServer({ noDelay: true }, (near) => this.#join(near, target))
  }

  get port(): number {
    const address = this.#server.address()
    assert(address !== null && typeof address === 'object', 'the proxy listens')
    return address.port
  }

  cut(): void {
    for (const { near, far } of this.#pairs) {
      resetSocket(near)
      resetSocket(far)
    }
  }

  hole(isOn: boolean): void {
    this.#isHole = isOn
  }

  async close(): Promise<void> {
    this.#server.close()
    this.cut()
  }

  #join(near: net.Socket, target: number): void {
    const far = net.connect({ host: '127.0.0.1', port: target, noDelay: true })
    const pair = { near, far }
    this.#pairs.add(pair)
    this.#pipe(near, far)
    this.#pipe(far, near)
    near.on('close', () => this.#pairs.delete(pair))
  }

  #pipe(from: net.Socket, to: net.Socket): void {
    from.on('data', (bytes) => {
      if (!this.#isHole && !to.write(bytes)) from.pause()
    })
    to.on('drain', () => from.resume())
    from.on('error', () => undefined)
    // In a hole ends are swallowed too.
    from.on('close', () => {
      if (!this.#isHole) to.destroySoon()
    })
  }
}
