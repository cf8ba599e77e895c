import type { ToolCall } from './generate-request.ts'
import type { CallExtent } from './json-extent.ts'
import { sharedEnd } from './stop-filter.ts'
import type { ToolCallSyntax } from './tool-call-format.ts'

/** A part of an answer: text, or a complete tool call. */
export type ParsedPart =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'call'; readonly call: ToolCall }

/** The part that is being read. A call without an extent ends at a mark. */
type State =
  | { readonly kind: 'text' }
  | { readonly kind: 'call'; readonly opened: string; readonly extent: CallExtent | undefined }

const PYTHON_TAG = '<|python_tag|>'

/**
 * Finds the tool calls in a text that arrives in pieces.
 *
 * Contract:
 * - The pieces do not matter: the joined texts and the calls are the same for every way to cut the
 *   text.
 * - Text that begins as a call but does not parse as one becomes text, with its marks.
 * - It holds back only text that may be the beginning of a call.
 */
export class ToolCallParser {
  readonly #syntax: ToolCallSyntax
  #state: State = { kind: 'text' }
  #pending = ''
  /** For a syntax without an opening mark: whether a call may begin here. */
  #isAtBeginning = true

  constructor(syntax: ToolCallSyntax) {
    this.#syntax = syntax
  }

  push(text: string): ParsedPart[] {
    this.#pending += text
    const parts: ParsedPart[] = []
    while (this.#step(parts));
    return joinTexts(parts)
  }

  end(): ParsedPart[] {
    const parts: ParsedPart[] = []
    const rest = this.#pending
    this.#pending = ''
    if (this.#state.kind === 'call') this.#finishCall(this.#state.opened, rest, '', parts)
    else parts.push({ kind: 'text', text: rest })
    this.#state = { kind: 'text' }
    return joinTexts(parts)
  }

  /** Reads one part. False: it needs more text. */
  #step(parts: ParsedPart[]): boolean {
    if (this.#state.kind === 'call') return this.#stepInCall(this.#state, parts)
    return this.#syntax.open === undefined
      ? this.#stepAtBeginning(parts)
      : this.#stepInText(this.#syntax.open, parts)
  }

  #stepInText(open: string, parts: ParsedPart[]): boolean {
    const at = this.#pending.indexOf(open)
    if (at >= 0) {
      parts.push({ kind: 'text', text: this.#pending.slice(0, at) })
      this.#beginCall(open, this.#pending.slice(at + open.length))
      return true
    }
    this.#release(sharedEnd(this.#pending, open), parts)
    return false
  }

  /** A bare object is a call only at the beginning of the text or after another call. */
  #stepAtBeginning(parts: ParsedPart[]): boolean {
    const trimmed = this.#pending.replace(/^[\s;]+/, '')
    const mayBeTag = PYTHON_TAG.startsWith(trimmed) || trimmed.startsWith(PYTHON_TAG)
    if (!this.#isAtBeginning) {
      this.#release(0, parts)
      return false
    }
    if (trimmed.startsWith('{')) {
      this.#beginCall(this.#pending.slice(0, this.#pending.length - trimmed.length), trimmed)
      return true
    }
    if (!mayBeTag) {
      this.#isAtBeginning = false
      return this.#pending !== ''
    }
    const afterTag = trimmed.slice(PYTHON_TAG.length).trimStart()
    if (!trimmed.startsWith(PYTHON_TAG) || afterTag === '') return false
    if (afterTag.startsWith('{')) {
      this.#beginCall(this.#pending.slice(0, this.#pending.length - afterTag.length), afterTag)
      return true
    }
    this.#isAtBeginning = false
    return true
  }

  #stepInCall({ opened, extent }: State & { kind: 'call' }, parts: ParsedPart[]): boolean {
    const mark = this.#closingMark
    const end = extent === undefined ? this.#indexOf(mark) : extent.endIn(this.#pending)
    if (end === undefined) return false
    const body = this.#pending.slice(0, end)
    this.#pending = this.#pending.slice(end + mark.length)
    this.#state = { kind: 'text' }
    this.#finishCall(opened, body, mark, parts)
    return true
  }

  get #closingMark(): string {
    const { close } = this.#syntax
    return typeof close === 'string' ? close : ''
  }

  #indexOf(mark: string): number | undefined {
    const at = this.#pending.indexOf(mark)
    return at < 0 ? undefined : at
  }

  #beginCall(opened: string, rest: string): void {
    const { close } = this.#syntax
    this.#state = { kind: 'call', opened, extent: typeof close === 'string' ? undefined : close() }
    this.#pending = rest
  }

  #finishCall(opened: string, body: string, closed: string, parts: ParsedPart[]): void {
    const calls = this.#syntax.parse(body)
    if (calls !== undefined) {
      for (const call of calls) parts.push({ kind: 'call', call })
      return
    }
    this.#isAtBeginning = false
    parts.push({ kind: 'text', text: opened + body + closed })
  }

  #release(held: number, parts: ParsedPart[]): void {
    const safe = this.#pending.length - held
    parts.push({ kind: 'text', text: this.#pending.slice(0, safe) })
    this.#pending = this.#pending.slice(safe)
  }
}

/** Joins neighbouring texts and drops empty ones. */
function joinTexts(parts: readonly ParsedPart[]): ParsedPart[] {
  const joined: ParsedPart[] = []
  for (const part of parts) {
    const last = joined.at(-1)
    if (part.kind === 'text' && part.text === '') continue
    if (part.kind === 'text' && last?.kind === 'text') {
      joined[joined.length - 1] = { kind: 'text', text: last.text + part.text }
    } else joined.push(part)
  }
  return joined
}
