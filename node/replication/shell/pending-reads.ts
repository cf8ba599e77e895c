import type { ServiceError } from '../../../lib/errors.ts'

/** A read that waits for the right to be served. */
export interface PendingRead {
  readonly token: number
  /** True once it was granted. */
  readonly isGranted: boolean
  readonly promise: Promise<void>
}

class Read implements PendingRead {
  readonly token: number
  isGranted = false
  refusal: ServiceError | undefined
  #settled: PromiseWithResolvers<void> | undefined

  constructor(token: number) {
    this.token = token
  }

  /** Made at its first use, because most reads are granted at once. */
  get promise(): Promise<void> {
    this.#settled ??= Promise.withResolvers()
    if (this.isGranted) this.#settled.resolve()
    else if (this.refusal !== undefined) this.#settled.reject(this.refusal)
    return this.#settled.promise
  }

  grant(): void {
    this.isGranted = true
    this.#settled?.resolve()
  }

  refuse(error: ServiceError): void {
    this.refusal = error
    this.#settled?.reject(error)
  }
}

/** The reads that a core was asked about, by token. */
export class PendingReads {
  readonly #reads = new Map<number, Read>()
  #last = 0

  begin(): PendingRead {
    this.#last += 1
    const read = new Read(this.#last)
    this.#reads.set(read.token, read)
    return read
  }

  grant(token: number): void {
    this.#reads.get(token)?.grant()
    this.#reads.delete(token)
  }

  refuse(token: number, error: ServiceError): void {
    this.#reads.get(token)?.refuse(error)
    this.#reads.delete(token)
  }

  refuseAll(error: ServiceError): void {
    for (const token of this.#reads.keys()) this.refuse(token, error)
  }
}
