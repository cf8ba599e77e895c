import { AskedCall, bytesOf } from './asked-call.ts'
import type { Question } from './asked-call.ts'
import type { CallEvents, OutgoingCall } from './outgoing-call.ts'
import { PartQueue } from '../streams/part-queue.ts'
import { PeerLane } from './peer-lane.ts'
import type { Dialling } from './peer-lane.ts'
import { LANES, TransportError } from '../peer.ts'
import type {
  Call,
  CallOptions,
  Lane,
  LaneListener,
  LaneState,
  PeerAddress,
  PeerLink,
  SendOptions,
} from '../peer.ts'

/** A PeerLink over connections that this node dials. */
export class DialledLink implements PeerLink {
  readonly peer: PeerAddress
  readonly #dialling: Dialling
  readonly #lanes: Readonly<Record<Lane, PeerLane>>
  readonly #listeners = new Set<LaneListener>()
  readonly #onClosed: () => void

  constructor(dialling: Dialling, peer: PeerAddress, onClosed: () => void) {
    this.peer = peer
    this.#dialling = dialling
    this.#onClosed = onClosed
    const laneOf = (lane: Lane): PeerLane =>
      new PeerLane(dialling, { lane, peer }, (state) => this.#tell(lane, state))
    this.#lanes = { prompt: laneOf('prompt'), bulk: laneOf('bulk') }
  }

  state(lane: Lane): LaneState {
    return this.#lanes[lane].state
  }

  onState(listener: LaneListener): () => void {
    this.#listeners.add(listener)
    return () => void this.#listeners.delete(listener)
  }

  call(call: Call, options: CallOptions = {}): Promise<Buffer> {
    const { events, promise } = oneAnswer()
    this.#ask({ kind: 'call', call, options, events })
    return promise
  }

  async *stream(call: Call, options: CallOptions = {}): AsyncGenerator<Buffer, void> {
    const parts = new PartQueue(() => asked.leave(left()))
    const events: CallEvents = {
      onMessage: (message, release) => parts.push(message, release),
      onEnd: () => parts.finish(),
      onError: (error) => parts.fail(error),
    }
    const asked = this.#ask({ kind: 'stream', call, options, events })
    yield* parts
  }

  upload(call: Call, parts: AsyncIterable<Uint8Array>, options: CallOptions = {}): Promise<Buffer> {
    const { events, promise } = oneAnswer()
    const onOpened = (opened: OutgoingCall): void => {
      sendParts(opened, parts).catch((error: unknown) => opened.leave(error))
    }
    this.#ask({ kind: 'upload', call, options, events, onOpened })
    return promise
  }

  send({ operation, body }: Call, { lane = 'prompt' }: SendOptions = {}): boolean {
    const side = this.#lanes[lane].current
    return side !== undefined && side.send(operation, bytesOf(body, side.version))
  }

  async close(): Promise<void> {
    for (const lane of LANES) this.#lanes[lane].close()
    this.#onClosed()
  }

  #tell(lane: Lane, state: LaneState): void {
    for (const listener of this.#listeners) listener(lane, state)
  }

  #ask(question: Question): AskedCall {
    const { deadlines, clock, limits } = this.#dialling
    const asked = new AskedCall(question, { deadlines, nowMs: () => clock.monotonicMs() })
    const lane = this.#lanes[question.options.lane ?? 'prompt']
    asked.begin(lane, limits.waitingMax)
    return asked
  }
}

/** The events of a call with one answer, as a promise. */
function oneAnswer(): { readonly events: CallEvents; readonly promise: Promise<Buffer> } {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  let answer: Buffer | undefined
  const events: CallEvents = {
    onMessage: (message) => (answer = message),
    onEnd: () => {
      if (answer !== undefined) resolve(answer)
      else reject(new TransportError('UNAVAILABLE', 'the other node sent no answer', 'unknown'))
    },
    onError: reject,
  }
  return { events, promise }
}

/** Ends without an error when the call has ended, also while a part is awaited. */
async function sendParts(call: OutgoingCall, parts: AsyncIterable<Uint8Array>): Promise<void> {
  for await (const part of parts) {
    if (call.isSettled) return
    await call.sendPart(part)
  }
  call.endParts()
}

function left(): TransportError {
  return new TransportError('CANCELLED', 'the reader has left', 'unknown')
}
