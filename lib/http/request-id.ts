// A name for each request, in its answer and in the log: the client's own where it sends one that is
// fit for a log, so that its traces and ours meet.

import type { ServerResponse } from 'node:http'
import type { Random } from '../random.ts'

const HEADER = 'x-request-id'
/** Printable, without white space, quotes and what ends a header or a line of a log. */
const SANE = /^[\w.~:/+=@-]{1,128}$/
const PREFIX_VALUES = 36 ** 6

/** Makes ids that no other request of this process has, and hardly any of another one. */
export class RequestIds {
  readonly #prefix: string
  #count = 0

  constructor(random: Random) {
    this.#prefix = Math.floor(random() * PREFIX_VALUES)
      .toString(36)
      .padStart(6, '0')
  }

  /** The client's id if it is fit for a log, otherwise a new one. */
  of(rawHeaders: readonly string[]): string {
    return sentId(rawHeaders) ?? this.#next()
  }

  #next(): string {
    this.#count += 1
    return `${this.#prefix}-${this.#count.toString(36)}`
  }
}

const NONE: readonly string[] = []
const extraHeaders = new WeakMap<ServerResponse, readonly string[]>()

/** From now on the answer carries the id, and the headers (flat) beside its own. */
export function nameRequest(
  response: ServerResponse,
  requestId: string,
  headers: readonly string[] = NONE,
): void {
  Object.assign(response, { requestId })
  if (headers.length > 0) extraHeaders.set(response, headers)
}

/** The headers that an answer carries because of its client, such as those of CORS. */
export function extraHeadersOf(response: ServerResponse): readonly string[] {
  return extraHeaders.get(response) ?? NONE
}

/** Undefined for an answer without an id. */
export function requestIdOf(response: ServerResponse): string | undefined {
  if (!('requestId' in response)) return undefined
  return typeof response.requestId === 'string' ? response.requestId : undefined
}

/** Flat, as they came: node builds the object of `request.headers` only for those who ask. */
function sentId(rawHeaders: readonly string[]): string | undefined {
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] ?? ''
    if (name.length !== HEADER.length || name.toLowerCase() !== HEADER) continue
    const id = rawHeaders[i + 1] ?? ''
    return SANE.test(id) ? id : undefined
  }
  return undefined
}
