// Handlebars' parser, with the types that its package lacks.

import { parse, parser as grammar } from '@handlebars/parser'
import type { Program } from './handlebars-tree.ts'

/** One run over a text. jison generates it; only what is read of it is named. */
export interface HandlebarsLexer {
  /** Whether the end was read. */
  readonly done: boolean
  /** The last token, as it was read. */
  readonly match: string
  /** Where the last token begins and ends: lines from 1, columns from 0. */
  readonly yylloc: {
    readonly first_line: number
    readonly first_column: number
    readonly last_line: number
    readonly last_column: number
  }
  /** The kinds of text that it is in, the innermost last: `com` is a comment. */
  readonly conditionStack: readonly string[]
  setInput(source: string, grammar: { readonly syntax: { readonly square: 'string' } }): unknown
  /** The next token: a number in `terminals_`, or its name. Undefined for white space. */
  lex(): number | string | undefined
}

declare module '@handlebars/parser' {
  export const parser: {
    readonly lexer: HandlebarsLexer
    readonly terminals_: Readonly<Record<number, string>>
  }
}

/** A lexer of its own for the text, with the settings that `parse` gives to its own. */
export function openLexer(source: string): HandlebarsLexer {
  const lexer: HandlebarsLexer = Object.create(grammar.lexer)
  lexer.setInput(source, { syntax: { square: 'string' } })
  return lexer
}

/** The name of the next token, such as `OPEN_BLOCK`; `EOF` at the end. Throws where no token begins. */
export function nextToken(lexer: HandlebarsLexer): string {
  const { terminals_: names } = grammar
  while (!lexer.done) {
    const token = lexer.lex()
    if (token !== undefined) return typeof token === 'string' ? token : (names[token] ?? '')
  }
  return 'EOF'
}

/** The tree of a text. Throws errors of several classes, which hold the place in several ways. */
export function parseTree(source: string): Program {
  return parse(source)
}
