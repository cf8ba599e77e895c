// The expressions in a tag: paths, literals and calls of helpers, from the parser's tree.

import { unreachable } from '../../lib/assert.ts'
import type { Call, Operand, Path, Stretched } from './handlebars-tree.ts'
import type { TemplateText } from './template-text.ts'
import { LOOP_VARIABLES } from './template.ts'
import type { Expression, MediaExpectation, PathExpression } from './template.ts'

const MEDIA_HELPERS: Readonly<Record<string, MediaExpectation>> = {
  media: 'any',
  remoteMedia: 'any',
  remotePDF: 'pdf',
  remoteText: 'text',
}
const BLOCK_HELPERS = ['if', 'unless', 'each', 'with'] as const
type BlockHelper = (typeof BLOCK_HELPERS)[number]
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
  | { readonly kind: 'block'; readonly helper: BlockHelper; readonly args: Arguments }
  | {
      readonly kind: 'media'
      readonly helper: string
      readonly expects: MediaExpectation
      readonly args: Arguments
    }

/** What a helper takes. `at` is where errors about that are reported. */
interface WantedArguments {
  readonly at: Stretched
  readonly places: number
  readonly names?: readonly string[]
}

const NOTHING: Expression = { kind: 'literal', value: undefined }

/** Compiles the expressions of one template. Throws INVALID_ARGUMENT with the place of what is wrong. */
export class ExpressionCompiler {
  readonly #text: TemplateText

  constructor(text: TemplateText) {
    this.#text = text
  }

  headOf(tag: Call): TagHead {
    const { path: at } = tag
    const name = helperName(at)
    const isCall = tag.params.length > 0 || tag.hash !== undefined
    if (name === undefined || !NAMES.includes(name)) {
      if (isCall) throw this.#noSuchHelper(at)
      return { kind: 'expression', value: this.#field(at) }
    }
    const args = this.#arguments(tag)
    const block = BLOCK_HELPERS.find((known) => known === name)
    if (block !== undefined) return { kind: 'block', helper: block, args }
    const expects = MEDIA_HELPERS[name]
    if (expects !== undefined) return { kind: 'media', helper: name, expects, args }
    return { kind: 'expression', value: this.#call(name, args, at) }
  }

  /** The arguments by their places. Throws for another number of them, and for unknown names. */
  checkArguments(
    helper: string,
    args: Arguments,
    { at, places, names = [] }: WantedArguments,
  ): readonly [Expression, Expression] {
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

  #arguments({ params, hash }: Call): Arguments {
    const places = params.map((param) => this.#argument(param))
    const pairs = hash?.pairs ?? []
    return { places, names: new Map(pairs.map(({ key, value }) => [key, this.#argument(value)])) }
  }

  #argument(node: Operand): Expression {
    if (node.type === 'PathExpression') return this.#path(node)
    if (node.type !== 'SubExpression') return literalOf(node) ?? this.#field(node)
    const name = helperName(node.path)
    if (name === undefined || !NAMES.includes(name)) throw this.#noSuchHelper(node.path)
    return this.#call(name, this.#arguments(node), node.path)
  }

  /** A literal in the first place of a tag is the name of a field. */
  #field(node: Operand): Expression {
    if (node.type === 'PathExpression') return this.#path(node)
    const literal = literalOf(node)
    if (literal === undefined) throw this.#noSuchHelper(node)
    return { kind: 'path', from: 'context', up: 0, parts: [String(literal.value)] }
  }

  #path(path: Path): PathExpression {
    const parts = path.parts.map((part) => {
      if (typeof part === 'string') return part
      throw this.#noSuchHelper(part)
    })
    if (!path.data) return { kind: 'path', from: 'context', up: path.depth, parts }
    const [first, ...rest] = parts
    const from = LOOP_VARIABLES.find((known) => known === first)
    if (from !== undefined) return { kind: 'path', from, up: path.depth, parts: rest }
    const known = LOOP_VARIABLES.map((each) => `@${each}`).join(', ')
    throw this.#refuse(path, `@${first ?? ''} is not known; there are ${known}`)
  }

  #call(name: string, args: Arguments, at: Stretched): Expression {
    const helper = VALUE_HELPERS.find((known) => known === name)
    if (helper !== undefined) return this.#callValue(helper, args, at)
    const why =
      MEDIA_HELPERS[name] === undefined
        ? `${name} begins a block: write {{#${name} …}}…{{/${name}}}`
        : `${name} writes a medium and has no value: it must stand in a tag of its own`
    throw this.#refuse(at, why)
  }

  #callValue(helper: ValueHelper, args: Arguments, at: Stretched): Expression {
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

  #noSuchHelper(node: Operand): Error {
    const name = node.type === 'PathExpression' ? node.original : 'this'
    return this.#refuse(node, `${name} is not a helper; there are ${NAMES.join(', ')}`)
  }

  #refuse({ loc }: Stretched, why: string): Error {
    return this.#text.refuse(loc.start, why)
  }
}

/** The name of a helper, if the node is one name without dots. In brackets it is the name of a field. */
function helperName(node: Operand): string | undefined {
  if (node.type !== 'PathExpression' || node.data || node.parts.length !== 1) return undefined
  const [name] = node.parts
  const { start, end } = node.loc
  const isBare = node.original === name && end.column - start.column === name.length
  return isBare ? name : undefined
}

interface Literal {
  readonly kind: 'literal'
  readonly value: string | number | boolean | null | undefined
}

/** Undefined for a node that is not a literal. */
function literalOf(node: Operand): Literal | undefined {
  const { type } = node
  if (type === 'UndefinedLiteral') return { kind: 'literal', value: undefined }
  if (type === 'NullLiteral') return { kind: 'literal', value: null }
  const hasValue = type === 'StringLiteral' || type === 'NumberLiteral' || type === 'BooleanLiteral'
  return hasValue ? { kind: 'literal', value: node.value } : undefined
}
