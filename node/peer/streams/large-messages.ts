/** Memory for one large message. */
export interface Reservation {
  /** Frees it, or gives up waiting for it. May be called twice. */
  release(): void
}

interface Waiting {
  readonly bytes: number
  readonly onGranted: () => void
}

/** The memory of one connection for messages above a window. Messages are served in the order in which they ask. */
export class LargeMessages {
  #free: number
  #waiting: Waiting[] = []

  constructor(bytesMax: number) {
    this.#free = bytesMax
  }

  /** Calls `onGranted` when the bytes are there: at once, or when others were released. */
  reserve(bytes: number, onGranted: () => void): Reservation {
    const waiting: Waiting = { bytes, onGranted }
    let isReleased = false
    this.#waiting.push(waiting)
    queueMicrotask(() => this.#grant())
    return {
      release: () => {
        if (isReleased) return
        isReleased = true
        const before = this.#waiting.length
        this.#waiting = this.#waiting.filter((other) => other !== waiting)
        if (this.#waiting.length === before) this.#free += bytes
        this.#grant()
      },
    }
  }

  #grant(): void {
    for (;;) {
      const [next] = this.#waiting
      if (next === undefined || next.bytes > this.#free) return
      this.#waiting.shift()
      this.#free -= next.bytes
      next.onGranted()
    }
  }
}
