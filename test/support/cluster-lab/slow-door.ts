// A way to a node's API that is slow, loses connections in the middle, and swallows bytes.

import { once } from 'node:events'
import net from 'node:net'
import { assert } from '../../../lib/assert.ts'
import { systemClock } from '../../../lib/clock.ts'
import type { Random } from '../../../lib/random.ts'

export interface SlowDoorOptions {
  readonly host: string
  readonly port: number
  readonly random: Random
  /** The longest delay of a piece. */
  readonly delayMsMax: number
  /** How many pieces of a hundred end their connection, half of them without a word. */
  readonly breaks: number
}

export class SlowDoor {
  readonly #server: net.Server
  readonly #sockets = new Set<net.Socket>()
  readonly #options: SlowDoorOptions

  static async open(options: SlowDoorOptions): Promise<SlowDoor> {
    const door = new SlowDoor(options)
    door.#server.listen(0, '127.0.0.1')
    await once(door.#server, 'listening')
    return door
  }

  private constructor(options: SlowDoorOptions) {
    this.#options = options
    this.#server = net.createServer({ noDelay: true }, (near) => this.#join(near))
  }

  get url(): string {
    const address = this.#server.address()
    assert(address !== null && typeof address === 'object', 'the door listens')
    return `http://127.0.0.1:${address.port}`
  }

  close(): void {
    this.#server.close()
    for (const socket of this.#sockets) socket.destroy()
  }

  #join(near: net.Socket): void {
    const { host, port } = this.#options
    const far = net.connect({ host, port, noDelay: true })
    for (const socket of [near, far]) {
      this.#sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => this.#sockets.delete(socket))
    }
    void this.#carry(near, far)
    void this.#carry(far, near)
  }

  async #carry(from: net.Socket, to: net.Socket): Promise<void> {
    const { random, delayMsMax, breaks } = this.#options
    try {
      for await (const piece of from) {
        await systemClock.sleep(random() * delayMsMax)
        const dice = random() * 100
        // From now on nothing comes, and nobody says so.
        if (dice < breaks / 2) return
        if (dice < breaks) break
        if (!to.write(piece)) await once(to, 'drain')
      }
    } catch {
      // The other side is gone.
    }
    to.destroy()
    from.destroy()
  }
}
