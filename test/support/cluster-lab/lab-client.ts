// Requests to the cluster from outside, and what may be believed of their ends.
//
//   ok       answered, and done
//   fail     refused, and nothing was changed
//   unknown  anything may have happened: no answer, or one that says so

import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'
import { messageOf } from '../../../lib/errors.ts'

/** Codes of answers by which nothing was changed. */
const REFUSALS = new Set([
  'CONFLICT',
  'NOT_FOUND',
  'ALREADY_EXISTS',
  'INVALID_ARGUMENT',
  'OVERLOADED',
  'NOT_LEADER',
  'RANGE_MOVED',
  'DISK_FULL',
])
const TIMEOUT_MS = 15_000
/** Refusals that clients of a sound cluster see: others were faster, or nothing is there. */
const USUAL = new Set(['CONFLICT', 'NOT_FOUND', 'ALREADY_EXISTS'])

export interface LabRequest {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly path: string
  readonly body?: unknown
  readonly idempotencyKey?: string
  readonly timeoutMs?: number
  /** The client goes away after so many milliseconds, answered or not. */
  readonly hangUpMs?: number
}

export type LabAnswer =
  | { readonly kind: 'ok'; readonly text: string; readonly headers: IncomingHttpHeaders }
  | { readonly kind: 'fail'; readonly code: string; readonly status: number; readonly text: string }
  /** `isSilent`: nothing came within the client's time, or the node has just closed a connection that was idle. */
  | { readonly kind: 'unknown'; readonly isSilent: boolean; readonly why: string }

/** Keeps connections for all who ask by it. */
export class LabClient implements Disposable {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 64 })
  readonly #outcomes = { ok: 0, fail: 0, unknown: 0 }
  readonly #failures = new Map<string, number>()

  /** How many requests ended in which way. */
  get outcomes(): Readonly<Record<LabAnswer['kind'], number>> {
    return this.#outcomes
  }

  /**
   * Answers and broken connections that clients of a sound cluster never see, and how many there were of each.
   * A request that took too long is none: the machine may be busy.
   */
  get failures(): ReadonlyMap<string, number> {
    return this.#failures
  }

  /** Never rejects. */
  async ask(url: string, request: LabRequest): Promise<LabAnswer> {
    const answer = await this.#ask(url, request)
    this.#outcomes[answer.kind] += 1
    const failure = failureOf(answer)
    if (failure !== undefined) this.#failures.set(failure, (this.#failures.get(failure) ?? 0) + 1)
    return answer
  }

  async #ask(url: string, request: LabRequest): Promise<LabAnswer> {
    try {
      const { status, headers, text } = await this.#send(url, request)
      if (status < 300) return { kind: 'ok', text, headers }
      const code = codeOf(text)
      if (REFUSALS.has(code)) return { kind: 'fail', code, status, text }
      return { kind: 'unknown', isSilent: false, why: `${status} ${text.slice(0, 300)}` }
    } catch (error) {
      const isSilent = isAbort(error) || error instanceof IdleClosed
      return { kind: 'unknown', isSilent, why: messageOf(error) }
    }
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  #send(url: string, request: LabRequest): Promise<Received> {
    const { method, path, body, idempotencyKey, hangUpMs, timeoutMs = TIMEOUT_MS } = request
    const sent = body === undefined ? undefined : JSON.stringify(body)
    const headers = {
      ...(sent === undefined
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(sent) }),
      ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    }
    const signal = AbortSignal.timeout(hangUpMs ?? timeoutMs)
    return new Promise((resolve, reject) => {
      const outgoing = httpRequest(
        new URL(path, url),
        { method, headers, agent: this.#agent, signal },
        (response) => {
          const chunks: Buffer[] = []
          response.on('data', (chunk: Buffer) => chunks.push(chunk))
          response.on('error', reject)
          response.on('end', () => {
            const text = Buffer.concat(chunks).toString()
            resolve({ status: response.statusCode ?? 0, headers: response.headers, text })
          })
        },
      )
      outgoing.on('error', (error: NodeJS.ErrnoException) => {
        const wasIdle = outgoing.reusedSocket && error.code === 'ECONNRESET'
        reject(wasIdle ? new IdleClosed(error.message) : error)
      })
      outgoing.end(sent)
    })
  }
}

interface Received {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
}

/** Every keep-alive client meets it: the request and the end of its connection have crossed. */
class IdleClosed extends Error {}

/** The signals of requests are those of a timeout alone. */
function isAbort(error: unknown): boolean {
  return error instanceof Error && ['AbortError', 'TimeoutError'].includes(error.name)
}

function failureOf(answer: LabAnswer): string | undefined {
  if (answer.kind === 'ok') return undefined
  if (answer.kind === 'fail') return USUAL.has(answer.code) ? undefined : answer.text.slice(0, 300)
  return answer.isSilent ? undefined : answer.why
}

function codeOf(text: string): string {
  try {
    return String(JSON.parse(text).code)
  } catch {
    return ''
  }
}
