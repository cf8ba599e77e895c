// A tool call in the syntax of FunctionGemma:
//
//   call:get_weather{city:<escape>Paris<escape>,days:3,places:[<escape>a<escape>]}
//
// A value between escape marks is read as JSON if possible, else as text.

import type { ToolCall } from './generate-request.ts'

const ESCAPE = '<escape>'
const DEPTH_MAX = 32
const HEAD = /^\s*call:\s*([\w.-]+)\s*\{/

/** The call between the marks; undefined if the text is not a call. */
export function parseGemmaCall(body: string): readonly ToolCall[] | undefined {
  const head = HEAD.exec(body)
  if (head === null) return undefined
  const [whole, name = ''] = head
  const reader = new ValueReader(body, whole.length - 1)
  const value = reader.readValue(0)
  if (value === undefined || !reader.isAtEnd()) return undefined
  return [{ name, arguments: JSON.stringify(value.value) }]
}

interface Read {
  readonly value: unknown
}

class ValueReader {
  readonly #text: string
  #at: number

  constructor(text: string, at: number) {
    this.#text = text
    this.#at = at
  }

  isAtEnd(): boolean {
    return this.#text.slice(this.#at).trim() === ''
  }

  readValue(depth: number): Read | undefined {
    if (depth > DEPTH_MAX) return undefined
    this.#skipSpace()
    if (this.#take(ESCAPE)) return this.#readEscaped()
    if (this.#take('{')) return this.#readObject(depth)
    if (this.#take('[')) return this.#readList(depth)
    return this.#readBare()
  }

  #readObject(depth: number): Read | undefined {
    const entries: [string, unknown][] = []
    this.#skipSpace()
    if (this.#take('}')) return { value: {} }
    for (;;) {
      const key = this.#readKey()
      const value = key === undefined ? undefined : this.readValue(depth + 1)
      if (key === undefined || value === undefined) return undefined
      entries.push([key, value.value])
      this.#skipSpace()
      if (this.#take('}')) return { value: Object.fromEntries(entries) }
      if (!this.#take(',')) return undefined
    }
  }

  #readList(depth: number): Read | undefined {
    const values: unknown[] = []
    this.#skipSpace()
    if (this.#take(']')) return { value: values }
    for (;;) {
      const value = this.readValue(depth + 1)
      if (value === undefined) return undefined
      values.push(value.value)
      this.#skipSpace()
      if (this.#take(']')) return { value: values }
      if (!this.#take(',')) return undefined
    }
  }

  #readKey(): string | undefined {
    this.#skipSpace()
    const isEscaped = this.#take(ESCAPE)
    const end = this.#text.indexOf(isEscaped ? ESCAPE : ':', this.#at)
    if (end < 0) return undefined
    const key = this.#text.slice(this.#at, end).trim()
    this.#at = isEscaped ? end + ESCAPE.length : end
    return this.#take(':') && key !== '' ? key : undefined
  }

  #readEscaped(): Read | undefined {
    const end = this.#text.indexOf(ESCAPE, this.#at)
    if (end < 0) return undefined
    const text = this.#text.slice(this.#at, end)
    this.#at = end + ESCAPE.length
    return { value: jsonOrText(text) }
  }

  #readBare(): Read | undefined {
    const start = this.#at
    while (this.#at < this.#text.length && !',}]'.includes(this.#text.charAt(this.#at))) {
      this.#at += 1
    }
    const text = this.#text.slice(start, this.#at).trim()
    return text === '' ? undefined : { value: jsonOrText(text) }
  }

  #take(mark: string): boolean {
    if (!this.#text.startsWith(mark, this.#at)) return false
    this.#at += mark.length
    return true
  }

  #skipSpace(): void {
    while (/\s/.test(this.#text.charAt(this.#at))) this.#at += 1
  }
}

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
