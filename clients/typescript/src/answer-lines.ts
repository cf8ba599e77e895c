// Reads the lines of an answer while they arrive: NDJSON of scans, server-sent events of generation.

import { ConnectionError } from './errors.ts'

/** The body of an answer that is still arriving. */
export interface AnswerStream {
  readonly bytes: ReadableStream<Uint8Array>
  /** The caller's signal. Its reason is thrown unchanged. */
  readonly signal: AbortSignal | undefined
}

/**
 * The lines without their ends; the last line may have no end. Leaving the loop early cancels the rest of
 * the answer. Throws ConnectionError when the connection breaks within the answer.
 */
export async function* linesOf({ bytes, signal }: AnswerStream): AsyncGenerator<string> {
  const reader = bytes.getReader()
  const decoder = new TextDecoder()
  // The pieces of a line without its end. They are joined once, so that a long line takes linear time.
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
    throw new ConnectionError('the connection broke within the answer', { cause })
  } finally {
    // Cancels the rest of an unfinished answer. A failed stream rejects here again.
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
