import { isServiceError, messageOf, ServiceError } from '../../../lib/errors.ts'
import type { HybridClock, Timestamp } from '../../clock/hybrid-clock.ts'
import type { ShardId } from '../shard-id.ts'
import type { CallCodec } from './shard-calls.ts'
import type { ShardPlace, ShardPlaces } from './shard-places.ts'
import { readAnswerMessage } from './wire/call-head.ts'
import { WireReader } from './wire/wire-reader.ts'

/** What the opener of answers works with. */
export interface AnswerOpenerOptions {
  readonly id: ShardId
  readonly places: ShardPlaces
  readonly hybridClock: HybridClock
}

/** Where an answer comes from, and whether it counts only with the hybrid times merged. */
export interface AnswerSource {
  readonly place: ShardPlace
  readonly isTimed: boolean
}

/** A message of an answer. `rest` is what its sender wrote behind the head. */
export interface OpenedMessage {
  readonly kind: 'answer' | 'part'
  readonly rest: WireReader
}

/** Reads what answers begin with: merges the times, and passes on what they say about the leader. */
export class AnswerOpener {
  readonly #options: AnswerOpenerOptions

  constructor(options: AnswerOpenerOptions) {
    this.#options = options
  }

  /**
   * Throws the refusal if it is one, UNAVAILABLE if the other clock is too far ahead, and INTERNAL for bytes
   * that are not a message.
   */
  open(message: Buffer, { place, isTimed }: AnswerSource): OpenedMessage {
    const rest = new WireReader(message)
    const opened = readingFrom(place, () => readAnswerMessage(rest))
    if (opened.kind === 'part') return { kind: 'part', rest }
    if (opened.kind === 'refusal') {
      this.#merge(opened.time, { place, isTimed: false })
      throw opened.refusal
    }
    const { time, epoch } = opened.head
    this.#merge(time, { place, isTimed })
    const { places, id } = this.#options
    if (epoch !== place.epoch) places.hint(id, place.node, epoch)
    return { kind: 'answer', rest }
  }

  /** The whole answer of a call. */
  answer<Argument, Answer>(
    codec: CallCodec<Argument, Answer>,
    message: Buffer,
    place: ShardPlace,
  ): Answer {
    const { rest } = this.open(message, { place, isTimed: codec.isTimed })
    return readingFrom(place, () => {
      const answer = codec.readAnswer(rest)
      rest.end()
      return answer
    })
  }

  #merge(time: Timestamp, { place, isTimed }: AnswerSource): void {
    try {
      this.#options.hybridClock.observe(time)
    } catch (error) {
      if (!isTimed) return
      const message = `the clock of node ${place.node} is too far ahead: ${messageOf(error)}`
      throw new ServiceError('UNAVAILABLE', message)
    }
  }
}

/** Runs `read`, which throws only if the bytes are malformed: a fault of the node that sent them. */
export function readingFrom<Value>(place: ShardPlace, read: () => Value): Value {
  try {
    return read()
  } catch (error) {
    throw isServiceError(error) ? faultOf(place, error) : error
  }
}

/** The codes of readers would blame the disk or the request of this node. */
export function faultOf({ node }: ShardPlace, { message }: ServiceError): ServiceError {
  return new ServiceError('INTERNAL', `node ${node} sent a malformed answer: ${message}`)
}
