// Tool calls in the syntax of Mistral models. Older models write JSON, newer ones use marks:
//
//   [TOOL_CALLS][{"name": "weather", "arguments": {"city": "Paris"}}]
//   [TOOL_CALLS]weather[ARGS]{"city": "Paris"}
//   [TOOL_CALLS]weather[CALL_ID]a1b2c3d4e[ARGS]{"city": "Paris"}
//
// In the newer form, each call has its own mark [TOOL_CALLS].

import { unreachable } from '../../../lib/assert.ts'
import type { ToolCall } from './generate-request.ts'
import { buildJsonCall, parseJsonCalls } from './json-call.ts'
import { JsonExtent } from './json-extent.ts'
import type { CallExtent } from './json-extent.ts'

const NAME_CHARS_MAX = 128
const CALL_ID_CHARS_MAX = 64
const ARGS = '[ARGS]'
const CALL_ID = '[CALL_ID]'
const HEAD = /^\s*([\w.-]+)(?:\[CALL_ID\]\w+)?\[ARGS\]/

/** Parses the text after [TOOL_CALLS]; undefined if it is not a call. */
export function parseMistralCalls(body: string): readonly ToolCall[] | undefined {
  const head = HEAD.exec(body)
  if (head === null) return parseJsonCalls(body)
  const [whole, name = ''] = head
  const call = buildJsonCall(name, body.slice(whole.length))
  return call === undefined ? undefined : [call]
}

type HeadPart = 'start' | 'name' | 'mark' | 'call-id' | 'arguments'

/**
 * The call ends with the JSON value of either form, or at the first character that fits neither
 * form.
 */
export class MistralExtent implements CallExtent {
  readonly #json = new JsonExtent()
  #part: HeadPart = 'start'
  /** The index at which the current part began. */
  #from = 0
  #at = 0
  #isInJson = false

  endIn(text: string): number | undefined {
    while (!this.#isInJson && this.#at < text.length) {
      const character = text.charAt(this.#at)
      this.#isInJson = this.#beginsJson(character)
      if (this.#isInJson) break
      if (!this.#takes(character, text)) return this.#at
      this.#at += 1
    }
    if (!this.#isInJson) return undefined
    const end = this.#json.endIn(text.slice(this.#at))
    return end === undefined ? undefined : this.#at + end
  }

  #beginsJson(character: string): boolean {
    if (this.#part === 'start') return character === '[' || character === '{'
    return this.#part === 'arguments' && character === '{'
  }

  #takes(character: string, text: string): boolean {
    switch (this.#part) {
      case 'start':
        return isSpace(character) || this.#enter('name', /[\w.-]/.test(character))
      case 'name':
        return (
          this.#continues(/[\w.-]/.test(character), NAME_CHARS_MAX) || this.#enterMark(character)
        )
      case 'call-id':
        return (
          this.#continues(/\w/.test(character), CALL_ID_CHARS_MAX) || this.#enterMark(character)
        )
      case 'mark':
        return this.#takesMark(text.slice(this.#from, this.#at + 1))
      case 'arguments':
        return isSpace(character)
      default:
        return unreachable(this.#part)
    }
  }

  #continues(isOfPart: boolean, charsMax: number): boolean {
    return isOfPart && this.#at - this.#from < charsMax
  }

  #enterMark(character: string): boolean {
    return this.#enter('mark', character === '[')
  }

  #takesMark(mark: string): boolean {
    if (mark === ARGS) this.#part = 'arguments'
    if (mark === CALL_ID) {
      this.#part = 'call-id'
      this.#from = this.#at + 1
    }
    return ARGS.startsWith(mark) || CALL_ID.startsWith(mark)
  }

  #enter(part: HeadPart, isItsBeginning: boolean): boolean {
    if (!isItsBeginning) return false
    this.#part = part
    this.#from = this.#at
    return true
  }
}

function isSpace(character: string): boolean {
  return /\s/.test(character)
}
