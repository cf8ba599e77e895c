// The expressions in a tag: paths, literals and calls of helpers, from the tag's words.

import { unreachable } from '../../lib/assert.ts'
import { syntaxError } from './template-error.ts'
import type { Word } from './template-lexer.ts'
import { LOOP_VARIABLES } from './template.ts'
import type { Expression, LoopVariable, MediaExpectation } from './template.ts'

/** Calls within calls, to this depth: parsing and rendering them recurse. */
const CALL_DEPTH_MAX = 32

const MEDIA_HELPERS: Readonly<Record<string, MediaExpectation>> = {
  media: 'any',
  remoteMedia: 'any',
  remotePDF: 'pdf',
  remoteText: 'text',
}
const BLOCK_HELPERS: ReadonlySet<string> = new Set(['if', 'unless', 'each', 'with'])
const VALUE_HELPERS = ['eq', 'lookup', 'scrubHtml', 'texts', 'encodeToon'] as const
type ValueHelper = (typeof VALUE_HELPERS)[number]
const NAMES = [...BLOCK_HELPERS, ...VALUE_HELPERS, ...Object.keys(MEDIA_HELPERS)]

/** The arguments of a call: by their places, and by their names. */
export interface Arguments {
  readonly places: readonly Expression[]
  readonly names: ReadonlyMap<string, Expression>
}

/** The content of a tag: a value, or the call of a helper that writes or begins a block. */
export type TagHead =
  | { readonly kind: 'expression'; readonly value: Expression }
  | ({ readonly kind: 'block'; readonly helper: 'if' | 'unless' | 'each' | 'with' } & WithArguments)
  | ({
      readonly kind: 'media'
      readonly helper: string
      readonly expects: MediaExpectation
    } & WithArguments)

interface WithArguments {
  readonly args: Arguments
}

/** A name as it is written, for the comparison of `{{#a}}` with `{{/a}}`. */
export function writtenName(words: readonly Word[]): string {
  const [first] = words
  const isPath = first?.kind === 'id' || first?.kind === 'data'
  const end = isPath
    ? words.findIndex((word, at) => at > 0 && startsAfresh(words[at - 1], word))
    : 1
  return words
    .slice(0, end === -1 ? words.length : end)
    .map(({ text }) => text)
    .join('')
}

function startsAfresh(previous: Word | undefined, word: Word): boolean {
  return word.kind !== 'separator' && previous?.kind !== 'separator' && previous?.kind !== 'data'
}

/** Reads the words of one tag. Throws INVALID_ARGUMENT with the position of what is wrong. */
export class ExpressionParser {
  readonly #source: string
  readonly #words: readonly Word[]
  /** The offset of the tag, for errors at its end. */
  readonly #tagAt: number
  #next = 0

  constructor(source: string, words: readonly Word[], tagAt: number) {
    this.#source = source
    this.#words = words
    this.#tagAt = tagAt
  }

  /** All words of the tag. */
  parseHead(): TagHead {
    const first = this.#peek()
    if (first === undefined) throw this.#refuse(this.#tagAt, 'this tag is empty')
    const name = this.#helperName()
    const value = this.#operand()
    const args = this.#arguments(0, undefined)
    const isCall = args.places.length > 0 || args.names.size > 0
    if (name === undefined || !isHelper(name)) {
      if (isCall) throw this.#noSuchHelper(first)
      return { kind: 'expression', value }
    }
    return this.#headOf(name, args, first.at)
  }

  #headOf(name: string, args: Arguments, at: number): TagHead {
    if (isBlockHelper(name)) return { kind: 'block', helper: name, args }
    const expects = MEDIA_HELPERS[name]
    if (expects !== undefined) return { kind: 'media', helper: name, expects, args }
    return { kind: 'expression', value: this.#call(name, args, at) }
  }

  /** `a`, `"a"`, `1`, `(helper a)`. A literal in the first place of a tag is the name of a field. */
  #operand(): Expression {
    const word = this.#take()
    if (word?.kind === 'id') return this.#path(word, 'context')
    if (word?.kind === 'data') return this.#loopVariable(word)
    const literal = word && literalOf(word)
    if (word === undefined || literal === undefined) {
      throw this.#unexpected(word, 'a name or a value')
    }
    return this.#next === 1 ? fieldPath(word.text) : literal
  }

  #argument(depth: number): Expression {
    if (this.#peek()?.kind !== '(') return this.#operand()
    const open = this.#take()
    const first = this.#peek()
    if (depth >= CALL_DEPTH_MAX) {
      throw this.#refuse(open?.at ?? this.#tagAt, `calls nest deeper than ${CALL_DEPTH_MAX}`)
    }
    const name = this.#helperName()
    if (first === undefined || name === undefined) throw this.#noSuchHelper(first)
    this.#next += 1
    const args = this.#arguments(depth + 1, open)
    if (!isHelper(name)) throw this.#noSuchHelper(first)
    return this.#call(name, args, first.at)
  }

  /** Until the end of the tag, or the `)` that closes `open`. */
  #arguments(depth: number, open: Word | undefined): Arguments {
    const places: Expression[] = []
    const names = new Map<string, Expression>()
    for (;;) {
      const word = this.#peek()
      if (open !== undefined && word?.kind === ')') {
        this.#next += 1
        return { places, names }
      }
      if (word === undefined) {
        if (open === undefined) return { places, names }
        throw this.#refuse(open.at, 'this ( is not closed')
      }
      if (word.kind === 'id' && this.#words[this.#next + 1]?.kind === '=') {
        this.#next += 2
        names.set(word.text, this.#argument(depth))
      } else if (names.size > 0) {
        throw this.#refuse(word.at, 'arguments without a name come before those with one')
      } else {
        places.push(this.#argument(depth))
      }
    }
  }

  #path(first: Word, from: 'context' | LoopVariable, up = 0): Expression {
    const parts: string[] = []
    let outward = up
    let isScoped = false
    for (let word: Word | undefined = first; word !== undefined; word = this.#behindSeparator()) {
      const isStep = !word.isBracketed && ['..', '.', 'this'].includes(word.text)
      if (isStep && parts.length > 0) {
        throw this.#refuse(word.at, `${word.text} is allowed at the beginning of a path alone`)
      }
      if (!isStep) parts.push(word.text)
      if (isStep) isScoped = true
      if (isStep && word.text === '..') outward += 1
    }
    if (from !== 'context' && isScoped) throw this.#refuse(first.at, 'this path is not a variable')
    return { kind: 'path', from, up: outward, parts }
  }

  #behindSeparator(): Word | undefined {
    if (this.#peek()?.kind !== 'separator') return undefined
    this.#next += 1
    const word = this.#take()
    if (word?.kind === 'id' || word?.kind === 'number') return word
    throw this.#unexpected(word, 'a name')
  }

  /** `@index`, `@../index`, `@root.a`. */
  #loopVariable(sign: Word): Expression {
    let up = 0
    let word = this.#take()
    while (word?.kind === 'id' && word.text === '..') {
      up += 1
      if (this.#peek()?.kind === 'separator') this.#next += 1
      word = this.#take()
    }
    const name = LOOP_VARIABLES.find((known) => known === word?.text)
    if (word?.kind !== 'id' || name === undefined) {
      const known = LOOP_VARIABLES.map((each) => `@${each}`).join(', ')
      throw this.#refuse(sign.at, `@${word?.text ?? ''} is not known; there are ${known}`)
    }
    const parts: string[] = []
    for (let part = this.#behindSeparator(); part !== undefined; part = this.#behindSeparator()) {
      parts.push(part.text)
    }
    return { kind: 'path', from: name, up, parts }
  }

  #call(name: string, args: Arguments, at: number): Expression {
    const helper = VALUE_HELPERS.find((known) => known === name)
    if (helper === undefined) {
      const why = isBlockHelper(name)
        ? `${name} begins a block: write {{#${name} …}}…{{/${name}}}`
        : `${name} writes a medium and has no value: it must stand in a tag of its own`
      throw this.#refuse(at, why)
    }
    return this.#callValue(helper, args, at)
  }

  #callValue(helper: ValueHelper, args: Arguments, at: number): Expression {
    switch (helper) {
      case 'eq': {
        const [left, right] = this.checkArguments(helper, args, { at, places: 2 })
        return { kind: 'eq', left, right }
      }
      case 'lookup': {
        const [object, name] = this.checkArguments(helper, args, { at, places: 2 })
        return { kind: 'lookup', object, name }
      }
      case 'scrubHtml':
      case 'texts': {
        const [value] = this.checkArguments(helper, args, { at, places: 1 })
        return { kind: helper, value }
      }
      case 'encodeToon': {
        const names = ['lengthMarker', 'indent', 'delimiter']
        const [value] = this.checkArguments(helper, args, { at, places: 1, names })
        const option = (name: string): Expression | undefined => args.names.get(name)
        const [lengthMarker, indent, delimiter] = names.map(option)
        return { kind: 'encodeToon', value, lengthMarker, indent, delimiter }
      }
      default:
        return unreachable(helper)
    }
  }

  /** The arguments by their places. Throws for another number of them, and for unknown names. */
  checkArguments(
    helper: string,
    args: Arguments,
    wanted: { readonly at: number; readonly places: number; readonly names?: readonly string[] },
  ): readonly [Expression, Expression] {
    const { at, places, names = [] } = wanted
    if (args.places.length !== places) {
      const given = args.places.length
      const hint = given === 0 ? `; for a field of this name write this.${helper}` : ''
      const count = `${places} argument${places === 1 ? '' : 's'}`
      throw this.#refuse(at, `${helper} takes ${count}, not ${given}${hint}`)
    }
    const unknown = args.names.keys().find((name) => !names.includes(name))
    if (unknown !== undefined) {
      const known = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`
      throw this.#refuse(at, `${helper} has no option ${unknown}; ${known}`)
    }
    const [first = NOTHING, second = NOTHING] = args.places
    return [first, second]
  }

  /** The name of a helper, if the next words are one name without dots. */
  #helperName(): string | undefined {
    const word = this.#peek()
    const isName = word?.kind === 'id' && !word.isBracketed
    const isPath = this.#words[this.#next + 1]?.kind === 'separator'
    return isName && !isPath && !['.', '..', 'this'].includes(word.text) ? word.text : undefined
  }

  #peek(): Word | undefined {
    return this.#words[this.#next]
  }

  #take(): Word | undefined {
    const word = this.#peek()
    this.#next += 1
    return word
  }

  #unexpected(word: Word | undefined, wanted: string): Error {
    const at = word?.at ?? this.#tagAt
    return this.#refuse(
      at,
      word === undefined ? `${wanted} is missing` : `${word.text} is not ${wanted}`,
    )
  }

  #noSuchHelper(word: Word | undefined): Error {
    const name = word === undefined ? 'nothing' : word.text
    return this.#refuse(
      word?.at ?? this.#tagAt,
      `${name} is not a helper; there are ${NAMES.join(', ')}`,
    )
  }

  #refuse(at: number, why: string): Error {
    return syntaxError(this.#source, at, why)
  }
}

const NOTHING: Expression = { kind: 'literal', value: undefined }

function isHelper(name: string): boolean {
  return NAMES.includes(name)
}

function isBlockHelper(name: string): name is 'if' | 'unless' | 'each' | 'with' {
  return BLOCK_HELPERS.has(name)
}

function fieldPath(name: string): Expression {
  return { kind: 'path', from: 'context', up: 0, parts: [name] }
}

/** Undefined for a word that is not a literal. */
function literalOf({ kind, text }: Word): Expression | undefined {
  if (kind === 'string') return { kind: 'literal', value: text }
  if (kind === 'number') return { kind: 'literal', value: Number(text) }
  if (kind === 'boolean') return { kind: 'literal', value: text === 'true' }
  if (kind === 'null') return { kind: 'literal', value: null }
  return kind === 'undefined' ? NOTHING : undefined
}
