import { expect } from 'chai'
import type { ServiceError } from '../../../lib/errors.ts'
import { TransportError } from '../../../node/peer/peer.ts'
import type {
  Call,
  Happened,
  PeerHandler,
  PeerHandlers,
  PeerLink,
  PeerNode,
  PeerRequest,
} from '../../../node/peer/peer.ts'
import { errorOf } from '../error-of.ts'
import type { NodeSettings, PeerWorld } from './peer-world.ts'

export const OPERATION = 1
export const EMPTY = Buffer.alloc(0)

type HandlerOf<Kind extends PeerHandler['kind']> = Extract<PeerHandler, { kind: Kind }>['handle']

export function body(text: string): Buffer {
  return Buffer.from(text)
}

export function ask(text = 'question'): Call {
  return { operation: OPERATION, body: body(text) }
}

export function handlersOf(handler: PeerHandler): PeerHandlers {
  return new Map([[OPERATION, handler]])
}

export function callHandler(handle: HandlerOf<'call'>): PeerHandlers {
  return handlersOf({ kind: 'call', handle })
}

export function streamHandler(handle: HandlerOf<'stream'>): PeerHandlers {
  return handlersOf({ kind: 'stream', handle })
}

export function uploadHandler(handle: HandlerOf<'upload'>): PeerHandlers {
  return handlersOf({ kind: 'upload', handle })
}

/** A handler whose calls wait until the test lets them answer. */
export class HeldCalls {
  readonly requests: PeerRequest[] = []
  /** Why their signals aborted. */
  readonly reasons: unknown[] = []
  readonly #held: PromiseWithResolvers<Uint8Array>[] = []
  readonly handlers = callHandler((request) => {
    this.requests.push(request)
    request.signal.addEventListener('abort', () => this.reasons.push(request.signal.reason))
    const held = Promise.withResolvers<Uint8Array>()
    this.#held.push(held)
    return held.promise
  })

  answerAll(): void {
    for (const { resolve } of this.#held.splice(0)) resolve(body('answer'))
  }
}

/** Parts of one size without an end, and how many were asked for. */
export async function* endless(count: { made: number }, bytes: number): AsyncGenerator<Uint8Array> {
  for (;;) {
    count.made += 1
    yield Buffer.alloc(bytes, count.made)
  }
}

/** Parts of these sizes, each full of its number. */
export async function* partsOf(sizes: readonly number[]): AsyncGenerator<Uint8Array> {
  for (const [at, size] of sizes.entries()) yield Buffer.alloc(size, at)
}

export async function collect(parts: AsyncIterable<Buffer>): Promise<Buffer[]> {
  const all: Buffer[] = []
  for await (const part of parts) all.push(part)
  return all
}

export function expectTransport(
  error: unknown,
  code: ServiceError['code'],
  happened: Happened,
): void {
  expect(error).to.be.instanceOf(TransportError)
  expect(error).to.include({ code, happened })
}

/** Two nodes, of which one asks the other. */
export interface Pair {
  readonly server: PeerNode
  readonly client: PeerNode
  readonly link: PeerLink
}

/** Settings of both that differ from the usual ones. */
export interface PairSettings {
  readonly server?: Partial<NodeSettings>
  readonly client?: Partial<NodeSettings>
}

/** The nodes of one test. */
export class PeerFixture {
  readonly #openWorld: () => PeerWorld
  #world: PeerWorld | undefined

  constructor(openWorld: () => PeerWorld) {
    this.#openWorld = openWorld
  }

  get world(): PeerWorld {
    this.#world ??= this.#openWorld()
    return this.#world
  }

  async close(): Promise<void> {
    await this.#world?.[Symbol.asyncDispose]()
    this.#world = undefined
  }

  async pair(handlers: PeerHandlers, settings: PairSettings = {}): Promise<Pair> {
    const server = await this.world.open({ nodeId: 'server', handlers, ...settings.server })
    const client = await this.world.open({ nodeId: 'client', ...settings.client })
    const link = client.link(await this.world.addressOf(server))
    return { server, client, link }
  }

  /** Connects, so that no deadline of a test includes the time of a handshake. */
  async connect(link: PeerLink): Promise<void> {
    link.send(ask())
    await this.world.until(() => link.state('prompt').kind === 'connected')
  }

  /** The outcome of a promise, while the world's time passes. */
  async settled<Value>(promise: Promise<Value>): Promise<Value> {
    let isDone = false
    const finish = (): void => void (isDone = true)
    promise.then(finish, finish)
    await this.world.until(() => isDone)
    return promise
  }

  failure(promise: Promise<unknown>): Promise<unknown> {
    return errorOf(() => this.settled(promise))
  }
}
