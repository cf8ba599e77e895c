import { once } from 'node:events'
import { connect } from 'node:net'
import type { Socket } from 'node:net'

/** A TCP connection that sends exactly these bytes and remembers what came back. */
export class RawClient implements Disposable {
  readonly socket: Socket
  #received = ''

  private constructor(socket: Socket) {
    this.socket = socket
    socket.setEncoding('latin1')
    socket.on('data', (text: string) => {
      this.#received += text
    })
    socket.on('error', () => socket.destroy()) // 'close' follows, and that is what tests wait for
  }

  static async open(url: string): Promise<RawClient> {
    const { hostname, port } = new URL(url)
    const socket = connect(Number(port), hostname)
    await once(socket, 'connect')
    return new RawClient(socket)
  }

  get received(): string {
    return this.#received
  }

  write(text: string): Promise<void> {
    return new Promise((resolve) => this.socket.write(text, () => resolve()))
  }

  /** Resolves with all that has come once it fits, or once the server has closed. */
  async until(pattern: RegExp): Promise<string> {
    while (!pattern.test(this.#received) && !this.socket.closed) {
      await Promise.race([once(this.socket, 'data'), once(this.socket, 'close')])
    }
    return this.#received
  }

  async close(): Promise<void> {
    if (this.socket.closed) return
    const closed = once(this.socket, 'close')
    this.socket.destroy()
    await closed
  }

  [Symbol.dispose](): void {
    this.socket.destroy()
  }
}

/** The head of a request; the body follows in whatever way the test wants. */
export function head(method: string, path: string, headers: Record<string, string | number> = {}) {
  const lines = Object.entries({ Host: '127.0.0.1', ...headers }).map(([name, value]) => {
    return `${name}: ${value}\r\n`
  })
  return `${method} ${path} HTTP/1.1\r\n${lines.join('')}\r\n`
}
