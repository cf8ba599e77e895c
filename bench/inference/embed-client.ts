// Asks a server for embeddings over HTTP, as a client on the same machine does.

import { once } from 'node:events'
import { Agent, request as httpRequest } from 'node:http'
import type { IncomingMessage } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { Samples, percentile } from '../report/statistics.ts'

const FLOAT_BYTES = 4

/** A request's body, ready to be sent: making it is not what is measured. */
export function embedBody(model: string, input: readonly string[], more: object = {}): Buffer {
  return Buffer.from(JSON.stringify({ model, input, ...more }))
}

export class EmbedClient implements Disposable {
  readonly #url: URL
  readonly #clock: Clock
  readonly #agent = new Agent({ keepAlive: true })

  constructor(api: string, clock: Clock) {
    this.#url = new URL('/api/embed', api)
    this.#clock = clock
  }

  /** How long the answer took. */
  async embed(body: Buffer): Promise<number> {
    const startMs = this.#clock.monotonicMs()
    await this.#post(body)
    return this.#clock.monotonicMs() - startMs
  }

  /** The last numbers of the last vector. */
  async lastNumbers(body: Buffer, count: number): Promise<readonly number[]> {
    const bytes = await this.#post(body)
    return Array.from({ length: count }, (_, index) =>
      bytes.readFloatLE(bytes.length - (count - index) * FLOAT_BYTES),
    )
  }

  /** How long all of them took, so many at a time. */
  async embedAll(bodies: readonly Buffer[], concurrency: number): Promise<number> {
    const startMs = this.#clock.monotonicMs()
    const rest = bodies.values()
    const work = async (): Promise<void> => {
      for (const body of rest) await this.embed(body)
    }
    await Promise.all(Array.from({ length: concurrency }, work))
    return this.#clock.monotonicMs() - startMs
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }

  async #post(body: Buffer): Promise<Buffer> {
    const request = httpRequest(this.#url, {
      method: 'POST',
      agent: this.#agent,
      headers: { 'content-type': 'application/json', 'content-length': body.length },
    }).end(body)
    const answer = await readAnswer(request)
    if (answer.status === 200) return answer.bytes
    throw new Error(`embed: status ${answer.status}: ${answer.bytes.toString('utf8')}`)
  }
}

/** How long a GET of `url` takes on a connection that is open. */
export class GetClient implements Disposable {
  readonly #url: URL
  readonly #clock: Clock
  readonly #agent = new Agent({ keepAlive: true, maxSockets: 1 })

  constructor(url: string, clock: Clock) {
    this.#url = new URL(url)
    this.#clock = clock
  }

  async get(): Promise<number> {
    const startMs = this.#clock.monotonicMs()
    const { status } = await readAnswer(httpRequest(this.#url, { agent: this.#agent }).end())
    if (status !== 200) throw new Error(`${this.#url.pathname}: status ${status}`)
    return this.#clock.monotonicMs() - startMs
  }

  [Symbol.dispose](): void {
    this.#agent.destroy()
  }
}

export interface Latencies {
  readonly p50Ms: number
  readonly p95Ms: number
  readonly p99Ms: number
}

export interface Repetition {
  readonly clock: Clock
  readonly pauseMs: number
  /** Looked at before each repetition. */
  readonly isOver: (repetitions: number) => boolean
}

/** One after the other, with a pause between them. */
export async function repeat(
  measure: () => Promise<number>,
  { clock, pauseMs, isOver }: Repetition,
): Promise<Latencies> {
  const samples = new Samples()
  while (!isOver(samples.length)) {
    samples.add(await measure())
    await clock.sleep(pauseMs)
  }
  const sorted = samples.sorted()
  return {
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
    p99Ms: percentile(sorted, 0.99),
  }
}

interface Answer {
  readonly status: number | undefined
  readonly bytes: Buffer
}

async function readAnswer(request: ReturnType<typeof httpRequest>): Promise<Answer> {
  const [response]: IncomingMessage[] = await once(request, 'response')
  const chunks: Buffer[] = []
  for await (const chunk of response ?? []) chunks.push(Buffer.from(chunk))
  return { status: response?.statusCode, bytes: Buffer.concat(chunks) }
}
