// Reads HTTP/1.1 answers with a content length. All measured servers send one.

const HEAD_END = '\r\n\r\n'
const STATUS_AT = 'HTTP/1.1 '.length
const CONTENT_LENGTH = /\r\ncontent-length: *(?<length>\d+)/i

/** A whole answer. */
export interface Answer {
  readonly status: number
  readonly body: Buffer
}

/** Takes the bytes of a connection, and returns an answer when it is complete. */
export interface AnswerReader {
  push(chunk: Buffer): Answer | undefined
}

/** Collects the bytes of one answer at a time. */
export class HttpAnswerReader implements AnswerReader {
  #pending: Buffer | undefined

  push(chunk: Buffer): Answer | undefined {
    const bytes = this.#pending === undefined ? chunk : Buffer.concat([this.#pending, chunk])
    const answer = parseAnswer(bytes)
    this.#pending = answer === undefined ? bytes : undefined
    return answer
  }
}

function parseAnswer(bytes: Buffer): Answer | undefined {
  const headEnd = bytes.indexOf(HEAD_END, 0, 'latin1')
  if (headEnd === -1) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  const length = CONTENT_LENGTH.exec(head)?.groups?.['length']
  if (length === undefined) throw new Error(`an answer without a length: ${head}`)
  const bodyAt = headEnd + HEAD_END.length
  const end = bodyAt + Number(length)
  if (bytes.length < end) return undefined
  if (bytes.length > end) throw new Error('more bytes than the answer has')
  return { status: Number(head.slice(STATUS_AT, STATUS_AT + 3)), body: bytes.subarray(bodyAt) }
}
