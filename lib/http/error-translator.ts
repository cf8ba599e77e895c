// Decides what a client may know of a thrown error, and what the log gets.

import { InvariantError } from '../assert.ts'
import { ServiceError, isServiceError } from '../errors.ts'
import type { Clock } from '../clock.ts'
import type { ErrorCode } from '../errors.ts'
import type { Log } from '../log.ts'
import { statusByErrorCode } from './error-status.ts'

/** The body of every error of our own APIs; their contracts call it Error. */
export interface ErrorBody {
  readonly error: string
  readonly code: ErrorCode
}

/** What the log tells of a request that failed. */
export interface FailedRequest {
  readonly requestId: string | undefined
  /** `none` for one that reached no operation. */
  readonly operation: string
}

/** What a translator needs of its server. */
export interface ErrorTranslatorOptions {
  readonly log: Log
  readonly clock: Pick<Clock, 'monotonicMs'>
  /** Called once a reply to the broken request is on its way; the process must end. */
  readonly onInvariantBroken: (error: InvariantError) => void
}

/**
 * Turns what a handler threw into the body of an error. The client gets the message of a ServiceError,
 * which is written for it. For any other error it gets only the request's id, and the log gets the
 * error. The log also reports errors with status 500 and above, at most one a second for each code, so
 * that a flood of refusals does not flood it.
 */
export class ErrorTranslator {
  readonly #with: ErrorTranslatorOptions
  readonly #counts = new Map<ErrorCode, number>()
  readonly #told = new Map<ErrorCode, Told>()

  constructor(options: ErrorTranslatorOptions) {
    this.#with = options
  }

  bodyOf(thrown: unknown, request: FailedRequest): ErrorBody {
    const { message, code } = this.#translate(thrown, request)
    this.#counts.set(code, (this.#counts.get(code) ?? 0) + 1)
    return { error: shortened(message), code }
  }

  /** The number of errors by code. Every code is there, also with 0, so that its series exists early. */
  counts(): Readonly<Record<string, number>> {
    const codes = Object.keys(statusByErrorCode)
    const counts = new Map<string, number>(this.#counts)
    return Object.fromEntries(codes.map((code) => [code, counts.get(code) ?? 0]))
  }

  #translate(thrown: unknown, request: FailedRequest): ServiceError {
    const { log, onInvariantBroken } = this.#with
    if (isServiceError(thrown)) {
      if (statusByErrorCode[thrown.code] >= SERVER_ERROR) this.#tell(thrown, request)
      return thrown
    }
    log.error('request failed unexpectedly', { ...request, error: describeThrown(thrown) })
    // After the reply has been handed to the socket, which happens in this same turn.
    if (thrown instanceof InvariantError) queueMicrotask(() => onInvariantBroken(thrown))
    return new ServiceError('INTERNAL', `internal error; request id ${request.requestId}`)
  }

  #tell({ code, message }: ServiceError, request: FailedRequest): void {
    const { log, clock } = this.#with
    const nowMs = clock.monotonicMs()
    const told = this.#told.get(code)
    if (told !== undefined && nowMs - told.atMs < TELLING_PERIOD_MS) {
      told.untold += 1
      return
    }
    this.#told.set(code, { atMs: nowMs, untold: 0 })
    const others = told === undefined ? 0 : told.untold
    const error = shortened(message)
    log.warn('request failed', { ...request, code, error, othersBefore: others })
  }
}

/** When a code was told, and how often it came since. */
interface Told {
  readonly atMs: number
  untold: number
}

const SERVER_ERROR = 500
const TELLING_PERIOD_MS = 1000

/** Messages quote texts of clients and models, which may have megabytes. */
const MESSAGE_LENGTH_MAX = 2_000

function shortened(message: string): string {
  if (message.length <= MESSAGE_LENGTH_MAX) return message
  return `${message.slice(0, MESSAGE_LENGTH_MAX).toWellFormed()}…`
}

function describeThrown(thrown: unknown): string {
  return thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
}
