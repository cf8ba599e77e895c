import { ServiceError } from '../../../lib/errors.ts'

/** What a source needs besides its embedder, and what does not answer now: a file's host, or the summarizer. */
export type AwayPart = 'file' | 'summarizer'

/** A source that cannot be prepared now. Neither it nor its embedder is at fault. */
export class AwayError extends ServiceError {
  readonly part: AwayPart

  constructor(part: AwayPart, message: string, cause?: unknown) {
    super('UNAVAILABLE', message, { cause })
    this.part = part
  }
}
