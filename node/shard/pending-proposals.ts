import { ServiceError } from '../../lib/errors.ts'

const QUEUED_PROPOSALS_MAX = 16_384
export const QUEUED_BYTES_MAX = 256 * 1024 * 1024

/** Counts the proposals without an answer, and refuses more than the limits allow. */
export class PendingProposals {
  #count = 0
  #bytes = 0
  #idle: PromiseWithResolvers<void> | undefined

  get count(): number {
    return this.#count
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Why one more is refused, if it is. A single one is taken whatever its size. */
  refusalOf(bytes: number): ServiceError | undefined {
    const isFull = this.#count > 0 && this.#bytes + bytes > QUEUED_BYTES_MAX
    if (!isFull && this.#count < QUEUED_PROPOSALS_MAX) return undefined
    return new ServiceError(
      'OVERLOADED',
      'too many writes are waiting for the disk; try again later',
    )
  }

  begin({ bytes }: { readonly bytes: number }): void {
    this.#count++
    this.#bytes += bytes
  }

  end({ bytes }: { readonly bytes: number }): void {
    this.#count--
    this.#bytes -= bytes
    if (this.#count > 0) return
    this.#idle?.resolve()
    this.#idle = undefined
  }

  /** Resolves when none is left. */
  async idle(): Promise<void> {
    if (this.#count === 0) return
    this.#idle ??= Promise.withResolvers()
    await this.#idle.promise
  }
}
