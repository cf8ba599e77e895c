// What is known of a template before it is parsed. Handlebars' parser reads a template in one go, and the stacks
// that it copies grow with the depth: 64 KiB of `{{#a}}` take it 8 to 30 seconds, and as many brackets 3 minutes. So
// its own lexer goes first, in steps, and what would take the parser longer than about 7 ms is refused.

import type { Sliced } from '../../lib/sliced.ts'
import { nextToken, openLexer, type HandlebarsLexer } from './handlebars-lexer.ts'
import { syntaxError, type Place } from './template-error.ts'
import { TemplateText, type Stretch } from './template-text.ts'

/** The sum of all tokens' costs. One at no depth costs 1, and takes the parser about 2 µs. */
const COST_MAX = 3000
/** At this depth a token costs twice as much: 4 µs. */
const DEPTH_OF_DOUBLE_COST = 16
/** The lexer puts the beginnings of `[a b]` and of `{{!-- a --}}` back, and so copies what is left of the text. */
const COPIED_PER_COST = 4096
/** Blocks within blocks, with each `{{else if}}`: compiling and rendering them recurse. */
const BLOCK_DEPTH_MAX = 64
/** Calls within calls: compiling and rendering them recurse. */
const CALL_DEPTH_MAX = 32
const TOKENS_PER_STEP = 100

const DECORATOR = 'decorators ({{* …}} and {{#* …}}) are not supported'
const REFUSED: Readonly<Record<string, string>> = {
  OPEN_RAW_BLOCK: 'raw blocks ({{{{…}}}}) are not supported',
  OPEN_PARTIAL: 'partials ({{> …}}) are not supported',
  OPEN_PARTIAL_BLOCK: 'partials ({{#> …}}) are not supported',
  OPEN_BLOCK_PARAMS: 'block parameters (as |name|) are not supported',
  PRIVATE_SEP: '.# does not separate names',
}

/** Throws INVALID_ARGUMENT with the place of what exceeds a limit, is not supported, or is not a token. */
export function* checkTemplate(source: string): Sliced<TemplateText> {
  const check = new TemplateCheck(source)
  for (let count = 1; !check.addToken(); count += 1) {
    if (count % TOKENS_PER_STEP === 0) yield
  }
  return new TemplateText(source, check.positions)
}

interface OpenBlock {
  readonly place: Place
  /** `{{else if}}`: it ends where the block around it ends. */
  readonly isChained: boolean
}

class TemplateCheck {
  readonly positions: Stretch[] = []
  readonly #lexer: HandlebarsLexer
  readonly #copyCost: number
  readonly #blocks: OpenBlock[] = []
  #openTag: Place | undefined
  #openCalls = 0
  #cost = 0
  #previous = ''

  constructor(source: string) {
    this.#lexer = openLexer(source)
    this.#copyCost = source.length / COPIED_PER_COST
  }

  /** True at the end of the template. */
  addToken(): boolean {
    const token = this.#nextToken()
    const { match } = this.#lexer
    const place = this.#place()
    if (token === 'EOF') this.#checkEnd()
    if (token === 'INVALID') {
      const what = JSON.stringify(match)
      throw syntaxError(place, `${what} cannot stand here, or the end of this tag is missing`)
    }
    const why = match.includes('*') && token.startsWith('OPEN') ? DECORATOR : REFUSED[token]
    if (why !== undefined) throw syntaxError(place, why)
    this.#follow(token, place)
    this.#charge(token, place)
    if (token === 'NUMBER' && this.#previous === 'SEP') {
      this.positions.push({ ...place, length: match.length })
    }
    this.#previous = token
    return token === 'EOF'
  }

  #nextToken(): string {
    try {
      return nextToken(this.#lexer)
    } catch {
      const isComment = this.#lexer.conditionStack.at(-1) === 'com'
      if (isComment) throw syntaxError(this.#place(), 'this comment has no end: --}} is missing')
      const { last_line: line, last_column: column } = this.#lexer.yylloc
      throw syntaxError({ line, column }, 'the character NUL cannot be read')
    }
  }

  #place(): Place {
    const { first_line: line, first_column: column } = this.#lexer.yylloc
    return { line, column }
  }

  #checkEnd(): void {
    if (this.#openTag !== undefined) {
      throw syntaxError(this.#openTag, 'this tag has no end: }} is missing')
    }
    const open = this.#blocks.findLast(({ isChained }) => !isChained)
    if (open !== undefined) throw syntaxError(open.place, 'this block is not closed')
  }

  #follow(token: string, place: Place): void {
    if (token === 'CLOSE' || token === 'CLOSE_UNESCAPED') this.#endTag()
    else if (token === 'CLOSE_SEXPR') this.#openCalls -= 1
    else if (token === 'OPEN_SEXPR') this.#openCall(place)
    else if (token.startsWith('OPEN')) this.#beginTag(token, place)
  }

  #openCall(place: Place): void {
    this.#openCalls += 1
    if (this.#openCalls <= CALL_DEPTH_MAX) return
    throw syntaxError(place, `calls nest deeper than ${CALL_DEPTH_MAX}`)
  }

  #endTag(): void {
    this.#openTag = undefined
    this.#openCalls = 0
  }

  #beginTag(token: string, place: Place): void {
    this.#openTag = place
    if (token === 'OPEN_ENDBLOCK') {
      while (this.#blocks.pop()?.isChained === true);
      return
    }
    if (token === 'OPEN' || token === 'OPEN_UNESCAPED') return
    this.#blocks.push({ place, isChained: token === 'OPEN_INVERSE_CHAIN' })
    if (this.#blocks.length <= BLOCK_DEPTH_MAX) return
    throw syntaxError(place, `blocks and their {{else if}} nest deeper than ${BLOCK_DEPTH_MAX}`)
  }

  #charge(token: string, place: Place): void {
    const { match } = this.#lexer
    const isPutBack = (token === 'ID' && match.startsWith('[')) || /^\{\{~?!--/.test(match)
    this.#cost += 1 + (this.#blocks.length + this.#openCalls) / DEPTH_OF_DOUBLE_COST
    if (isPutBack) this.#cost += this.#copyCost
    if (this.#cost <= COST_MAX) return
    const weights = 'those in blocks and calls, names in brackets and comments count for more'
    throw syntaxError(place, `it has more than ${COST_MAX} words and signs in tags; ${weights}`)
  }
}
