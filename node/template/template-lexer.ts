// Cuts a template into pieces: content, and tags with the words in them. The rules are those of
// Handlebars' lexer (docs/decisions/0082-templates.md), as a scanner that reads every character a
// constant number of times.

import { syntaxError } from './template-error.ts'

/** A word within a tag. */
export interface Word {
  readonly kind:
    | 'id'
    | 'separator'
    | 'data'
    | 'string'
    | 'number'
    | 'boolean'
    | 'undefined'
    | 'null'
    | '('
    | ')'
    | '='
  /** Without the quotes or brackets. */
  readonly text: string
  /** `[like this]`: never `this`, `.` or `..`. */
  readonly isBracketed: boolean
  readonly at: number
}

export type TagKind =
  | 'value' // {{a}}, {{{a}}}, {{&a}}
  | 'open' // {{#a}}
  | 'open-inverse' // {{^a}}
  | 'else' // {{else}}, {{^}}
  | 'else-chain' // {{else if a}}
  | 'close' // {{/a}}
  | 'comment' // {{! a}}

/** A tag. A `~` at one of its ends removes the white space before or behind it. */
export interface Tag {
  readonly kind: TagKind
  readonly words: readonly Word[]
  readonly stripsBefore: boolean
  readonly stripsBehind: boolean
  readonly at: number
}

export type Piece = { readonly kind: 'content'; readonly text: string } | Tag

/** Words are read without a pause, so their number is what bounds a step. */
const WORDS_PER_TAG_MAX = 1000

const OPENING = /\{\{(~?)(\{\{|#>|#\*|[>#/^{&*]|!--|!|)/y
const WHOLE_ELSE = /\{\{(~?)(?:\^|\s*else)\s*(~?)\}\}/y
const ELSE = /\{\{~?\s*else\b/y
const SPACE = /\s*/y
const CLOSE = /(~)\}\}|\}\}(?!\})/y
const CLOSE_UNESCAPED = /\}(~?)\}\}/y
const WORD =
  /(?<mark>[()=@])|(?<dots>\.\.|\.(?=[=~}\s/.)\]|]))|(?<separator>[/.])|"(?<double>(?:\\"|[^"])*)"|'(?<single>(?:\\'|[^'])*)'|(?<word>true|false|undefined|null)(?=[~}\s)\]])|(?<number>-?\d+(?:\.\d+)?)(?=[~}\s)\]])|(?<params>as\s+\|)|(?<id>[^\s!"#%-,./;->@[-^`{-~]+)(?=[=~}\s/.)\]|])|\[(?<bracketed>(?:\\\]|[^\]])*)\]/y

const KIND_BY_SIGN: Readonly<Record<string, TagKind>> = {
  '': 'value',
  '{': 'value',
  '&': 'value',
  '#': 'open',
  '^': 'open-inverse',
  '/': 'close',
}
const REFUSED_BY_SIGN: Readonly<Record<string, string>> = {
  '{{': 'raw blocks ({{{{…}}}}) are not supported',
  '>': 'partials ({{> …}}) are not supported',
  '#>': 'partials ({{#> …}}) are not supported',
  '*': 'decorators ({{* …}}) are not supported',
  '#*': 'decorators ({{#* …}}) are not supported',
}

interface Opening {
  readonly at: number
  readonly stripsBefore: boolean
  /** The offset behind it. */
  readonly from: number
}

/** The pieces of one template, one after the other. */
export class TemplateLexer {
  readonly source: string
  #at = 0
  /** The content that comes next begins with `{{`, because a backslash stood before it. */
  #isEscaped = false

  constructor(source: string) {
    this.source = source
  }

  /** Undefined at the end. Throws INVALID_ARGUMENT with the position of what cannot be read. */
  next(): Piece | undefined {
    if (this.#at >= this.source.length) return undefined
    if (this.#isEscaped) return this.#escapedContent()
    const from = this.#at
    const tagAt = this.source.indexOf('{{', from)
    if (tagAt === -1) return this.#content(this.source.length)
    if (this.source[tagAt - 1] === '\\' && tagAt > from) return this.#backslashed(from, tagAt)
    return tagAt > from ? this.#content(tagAt) : this.#tag()
  }

  #content(to: number): Piece {
    const text = this.source.slice(this.#at, to)
    this.#at = to
    return { kind: 'content', text }
  }

  /** One backslash makes the tag text; two are one, and the tag is a tag. */
  #backslashed(from: number, tagAt: number): Piece | undefined {
    this.#isEscaped = !(this.source[tagAt - 2] === '\\' && tagAt - 2 >= from)
    this.#at = tagAt
    const text = this.source.slice(from, tagAt - 1)
    return text === '' ? this.next() : { kind: 'content', text }
  }

  /** Extends from `{{` to the next tag, or to the backslashes before it. */
  #escapedContent(): Piece {
    this.#isEscaped = false
    let end = this.source.indexOf('{{', this.#at + 2)
    if (end === -1) return this.#content(this.source.length)
    for (let count = 0; count < 2 && end - 1 >= this.#at + 2; count += 1) {
      if (this.source[end - 1] === '\\') end -= 1
    }
    return this.#content(end)
  }

  #tag(): Tag {
    const at = this.#at
    WHOLE_ELSE.lastIndex = at
    const whole = WHOLE_ELSE.exec(this.source)
    if (whole !== null) return this.#else(whole)
    ELSE.lastIndex = at
    if (ELSE.test(this.source)) {
      const stripsBefore = this.source[at + 2] === '~'
      return this.#openedTag('else-chain', { at, stripsBefore, from: ELSE.lastIndex }, CLOSE)
    }
    OPENING.lastIndex = at
    const [text = '', strip = '', sign = ''] = OPENING.exec(this.source) ?? []
    const stripsBefore = strip === '~'
    const why = REFUSED_BY_SIGN[sign]
    if (why !== undefined) throw this.#refuse(at, why)
    if (sign === '!' || sign === '!--') return this.#comment(sign, stripsBefore)
    const kind = KIND_BY_SIGN[sign] ?? 'value'
    const close = sign === '{' ? CLOSE_UNESCAPED : CLOSE
    return this.#openedTag(kind, { at, stripsBefore, from: at + text.length }, close)
  }

  #openedTag(kind: TagKind, opening: Opening, close: RegExp): Tag {
    const { at, stripsBefore, from } = opening
    this.#at = from
    return { kind, ...this.#words(at, close), stripsBefore, at }
  }

  #else([text, before, behind]: RegExpExecArray): Tag {
    const at = this.#at
    this.#at += text.length
    return {
      kind: 'else',
      words: [],
      stripsBefore: before === '~',
      stripsBehind: behind === '~',
      at,
    }
  }

  #comment(sign: '!' | '!--', stripsBefore: boolean): Tag {
    const at = this.#at
    const close = sign === '!--' ? /--~?\}\}/g : /\}\}/g
    close.lastIndex = at + 2
    if (!close.test(this.source)) {
      throw this.#refuse(
        at,
        `this comment has no end: ${sign === '!--' ? '--}}' : '}}'} is missing`,
      )
    }
    const end = close.lastIndex
    this.#at = end
    const stripsBehind = this.source[end - 3] === '~'
    return { kind: 'comment', words: [], stripsBefore, stripsBehind, at }
  }

  #words(tagAt: number, close: RegExp): Pick<Tag, 'words' | 'stripsBehind'> {
    const words: Word[] = []
    for (;;) {
      SPACE.lastIndex = this.#at
      SPACE.test(this.source)
      this.#at = SPACE.lastIndex
      close.lastIndex = this.#at
      const [text, strip] = close.exec(this.source) ?? []
      if (text !== undefined) {
        this.#at += text.length
        return { words, stripsBehind: strip === '~' }
      }
      words.push(this.#word(tagAt, close))
      if (words.length > WORDS_PER_TAG_MAX) {
        throw this.#refuse(tagAt, `this tag has more than ${WORDS_PER_TAG_MAX} words`)
      }
    }
  }

  #word(tagAt: number, close: RegExp): Word {
    const at = this.#at
    WORD.lastIndex = at
    const found = WORD.exec(this.source)
    if (found?.groups === undefined) throw this.#unreadable(tagAt, close)
    this.#at = WORD.lastIndex
    const word = wordOf(found.groups, at)
    if (word !== undefined) return word
    throw this.#refuse(at, 'block parameters (as |name|) are not supported')
  }

  #unreadable(tagAt: number, close: RegExp): Error {
    const wanted = close === CLOSE ? '}}' : '}}}'
    if (!this.source.includes('}}', this.#at)) {
      return this.#refuse(tagAt, `this tag has no end: ${wanted} is missing`)
    }
    const found = this.source.slice(this.#at, this.#at + 10)
    return this.#refuse(this.#at, `${JSON.stringify(found)} is neither a word nor ${wanted}`)
  }

  #refuse(at: number, why: string): Error {
    return syntaxError(this.source, at, why)
  }
}

/** The kinds of words by the groups of WORD. */
const KIND_BY_GROUP: readonly (readonly [group: string, kind: Word['kind']])[] = [
  ['separator', 'separator'],
  ['double', 'string'],
  ['single', 'string'],
  ['number', 'number'],
  ['bracketed', 'id'],
  ['dots', 'id'],
  ['id', 'id'],
]
const KIND_BY_TEXT: Readonly<Record<string, Word['kind']>> = {
  '@': 'data',
  '(': '(',
  ')': ')',
  '=': '=',
  true: 'boolean',
  false: 'boolean',
  null: 'null',
  undefined: 'undefined',
}

/** Undefined for block parameters. */
function wordOf(
  groups: Readonly<Record<string, string | undefined>>,
  at: number,
): Word | undefined {
  const mark = groups['mark'] ?? groups['word']
  const markKind = mark === undefined ? undefined : KIND_BY_TEXT[mark]
  if (mark !== undefined && markKind !== undefined) {
    return { kind: markKind, text: mark, isBracketed: false, at }
  }
  for (const [group, kind] of KIND_BY_GROUP) {
    const text = groups[group]
    if (text === undefined) continue
    return { kind, text: unescaped(group, text), isBracketed: group === 'bracketed', at }
  }
  return undefined
}

function unescaped(group: string, text: string): string {
  if (group === 'double') return text.replaceAll('\\"', '"')
  if (group === 'single') return text.replaceAll("\\'", "'")
  return group === 'bracketed' ? text.replaceAll(/\\([\\\]])/g, '$1') : text
}
