// The lines of an answer as they arrive: NDJSON of scans, server-sent events of generation.

import { ConnectionError } from './errors.ts'

export interface AnswerStream {
  readonly bytes: ReadableStream<Uint8Array>
  /** The caller's; its reason passes as it is. */
  readonly signal: AbortSignal | undefined
}

/**
 * Lines without their ends; the last one may lack its end. Who leaves the loop early gives the rest of
 * the answer up. Throws ConnectionError when the answer breaks off.
 */
export async function* linesOf({ bytes, signal }: AnswerStream): AsyncGenerator<string> {
  const reader = bytes.getReader()
  const decoder = new TextDecoder()
  // The beginning of a line whose end has not arrived, joined once: a long line takes linear time.
  let begun: string[] = []
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) break
      const [first = '', ...more] = decoder.decode(value, { stream: true }).split('\n')
      begun.push(first)
      const last = more.pop()
      if (last === undefined) continue
      yield begun.join('')
      begun = [last]
      yield* more
    }
    const rest = begun.join('') + decoder.decode()
    if (rest !== '') yield rest
  } catch (cause) {
    if (signal?.aborted === true) throw signal.reason
    throw new ConnectionError('the answer broke off', { cause })
  } finally {
    // Of an answer that has ended or broken off there is nothing left to give up.
    await reader.cancel().catch(() => undefined)
  }
}

const EVENT_DATA = 'data: '
const EVENTS_END = '[DONE]'

/** The data of each event; throws ConnectionError if the stream ends without its last event. */
export async function* eventsOf(answer: AnswerStream): AsyncGenerator<string> {
  for await (const line of linesOf(answer)) {
    if (!line.startsWith(EVENT_DATA)) continue
    const data = line.slice(EVENT_DATA.length)
    if (data === EVENTS_END) return
    yield data
  }
  throw new ConnectionError('the answer ended before its last event')
}
