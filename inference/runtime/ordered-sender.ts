// Sends messages in their order, large ones in pieces: what comes after such a one goes behind it.

import { detachLarge } from './large-payloads.ts'
import type { Detached, PayloadPiece } from './large-payloads.ts'

export interface OrderedSenderOptions<Message extends object> {
  /** Resolves when the next may be sent. */
  readonly post: (part: Message | PayloadPiece) => Promise<unknown>
  /** Of what cannot be cloned, such as what is nested too deeply. */
  readonly onRefused: (message: Message) => void
}

export class OrderedSender<Message extends object> {
  readonly #with: OrderedSenderOptions<Message>
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(options: OrderedSenderOptions<Message>) {
    this.#with = options
  }

  send(whole: Message): void {
    const { post, onRefused } = this.#with
    const detached = detachLarge(whole)
    const refused = (): void => onRefused(whole)
    if (this.#waiting === 0 && detached.pieces.length === 0) {
      void this.#tried(() => post(detached.message)).catch(refused)
      return
    }
    this.#waiting += 1
    this.#last = this.#last
      .then(() => this.#sendAll(detached))
      .catch(refused)
      .finally(() => (this.#waiting -= 1))
  }

  /** Resolves when everything before has been posted. */
  async drain(): Promise<void> {
    await this.#last
  }

  async #tried(post: () => Promise<unknown>): Promise<void> {
    await post()
  }

  async #sendAll({ message, pieces }: Detached<Message>): Promise<void> {
    for (const piece of pieces) await this.#with.post(piece)
    await this.#with.post(message)
  }
}
