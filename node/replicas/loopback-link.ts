// A node's way to itself: the calls of a shard that has just become led here, and whose caller was looking for
// it elsewhere.

import type { Clock } from '../../lib/clock.ts'
import { noHandler } from '../peer/peer.ts'
import type {
  Body,
  Call,
  CallOptions,
  LaneState,
  PeerAddress,
  PeerHandler,
  PeerHandlers,
  PeerLink,
  PeerRequest,
} from '../peer/peer.ts'

/** Both sides are this program, so they speak its version. */
const VERSION = 1

type HandlerOf<Kind extends PeerHandler['kind']> = Extract<PeerHandler, { kind: Kind }>

/** Runs the handlers of this node in place. Contract: PeerLink, for a connection that is never lost. */
export class LoopbackLink implements PeerLink {
  readonly peer: PeerAddress
  readonly #handlers: PeerHandlers
  readonly #clock: Clock

  constructor(nodeId: string, handlers: PeerHandlers, clock: Clock) {
    this.peer = { nodeId, host: 'localhost', port: 0 }
    this.#handlers = handlers
    this.#clock = clock
  }

  state(): LaneState {
    return { kind: 'connected', version: VERSION }
  }

  onState(): () => void {
    return () => undefined
  }

  async call(call: Call, options: CallOptions = {}): Promise<Buffer> {
    const handler = this.#handler(call, 'call')
    return Buffer.from(await handler.handle(this.#requestOf(call, options)))
  }

  async *stream(call: Call, options: CallOptions = {}): AsyncGenerator<Buffer, undefined> {
    const handler = this.#handler(call, 'stream')
    const left = new AbortController()
    const request = this.#requestOf(call, { ...options, signal: either(options.signal, left) })
    try {
      for await (const part of handler.handle(request)) yield Buffer.from(part)
    } finally {
      left.abort()
    }
  }

  async upload(
    call: Call,
    parts: AsyncIterable<Uint8Array>,
    options: CallOptions = {},
  ): Promise<Buffer> {
    const handler = this.#handler(call, 'upload')
    const request = { ...this.#requestOf(call, options), parts: buffersOf(parts) }
    return Buffer.from(await handler.handle(request))
  }

  send(call: Call): boolean {
    const handler = this.#handler(call, 'message')
    void handler.handle({ from: this.peer.nodeId, version: VERSION, body: bytesOf(call.body) })
    return true
  }

  async close(): Promise<void> {}

  #handler<Kind extends PeerHandler['kind']>({ operation }: Call, kind: Kind): HandlerOf<Kind> {
    const handler = this.#handlers.get(operation)
    if (handler !== undefined && isOfKind(handler, kind)) return handler
    throw noHandler(this.#handlers, { operation, kind })
  }

  #requestOf({ body }: Call, { signal, timeoutMs }: CallOptions): PeerRequest {
    const clock = this.#clock
    const untilMs = timeoutMs === undefined ? undefined : clock.monotonicMs() + timeoutMs
    return {
      from: this.peer.nodeId,
      version: VERSION,
      body: bytesOf(body),
      signal: signal ?? new AbortController().signal,
      remainingMs: () => untilMs && Math.max(0, untilMs - clock.monotonicMs()),
    }
  }
}

function isOfKind<Kind extends PeerHandler['kind']>(
  handler: PeerHandler,
  kind: Kind,
): handler is HandlerOf<Kind> {
  return handler.kind === kind
}

function bytesOf(body: Body): Buffer {
  return Buffer.from(typeof body === 'function' ? body(VERSION) : body)
}

async function* buffersOf(parts: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer, undefined> {
  for await (const part of parts) yield Buffer.from(part)
}

function either(signal: AbortSignal | undefined, left: AbortController): AbortSignal {
  return signal === undefined ? left.signal : AbortSignal.any([signal, left.signal])
}
