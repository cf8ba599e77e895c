// Sends messages in order, large ones in pieces. Later messages wait for the pieces of earlier ones.

import { detachLarge } from './large-payloads.ts'
import type { Detached, PayloadPiece } from './large-payloads.ts'

/** The channel that messages go to. */
export interface OrderedSenderOptions<Message extends object> {
  /** Sends one part. Resolves when the next part may be sent. */
  readonly post: (part: Message | PayloadPiece) => Promise<unknown>
  /** Called with a message that cannot be cloned, for example because it is nested too deeply. */
  readonly onRefused: (message: Message) => void
}

/** Sends whole messages over a channel of parts. `send` never throws and never blocks. */
export class OrderedSender<Message extends object> {
  readonly #with: OrderedSenderOptions<Message>
  #last: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(options: OrderedSenderOptions<Message>) {
    this.#with = options
  }

  /** Queues one message. A message without large parts is posted at once if nothing waits. */
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

  /** Resolves when all earlier messages have been posted. */
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
