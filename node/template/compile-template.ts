// Compiles a template: Handlebars' parser makes its tree, and the tree becomes nodes.

import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { ExpressionCompiler } from './compile-expression.ts'
import { checkTemplate } from './check-template.ts'
import type { Block, Call, Program } from './handlebars-tree.ts'
import { parseTemplate } from './parse-template.ts'
import type { TemplateText } from './template-text.ts'
import type { BlockNode, Template, TemplateNode } from './template.ts'

/** In UTF-16 units. Templates are written by people; the longest step grows with it. */
export const TEMPLATE_LENGTH_MAX = 64 * 1024

/**
 * Compiles the text of a template. Throws INVALID_ARGUMENT with line, column and reason for text that
 * is not a template.
 */
export function* compileTemplate(source: string): Sliced<Template> {
  if (source.length > TEMPLATE_LENGTH_MAX) {
    const message = `template: it has ${source.length} characters; the maximum is ${TEMPLATE_LENGTH_MAX}`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  const text = yield* checkTemplate(source)
  yield
  const tree = parseTemplate(text)
  yield
  return { nodes: yield* new TemplateCompiler(text).nodesOf(tree) }
}

class TemplateCompiler {
  readonly #text: TemplateText
  readonly #expressions: ExpressionCompiler

  constructor(text: TemplateText) {
    this.#text = text
    this.#expressions = new ExpressionCompiler(text)
  }

  *nodesOf(program: Program | undefined): Sliced<readonly TemplateNode[]> {
    const nodes: TemplateNode[] = []
    for (const statement of program?.body ?? []) {
      yield
      const { type } = statement
      if (type === 'BlockStatement') nodes.push(yield* this.#blockNode(statement))
      else if (type === 'MustacheStatement') nodes.push(this.#valueNode(statement))
      else if (type === 'ContentStatement' && statement.value !== '') {
        nodes.push({ kind: 'text', text: statement.value })
      }
    }
    return nodes
  }

  #valueNode(tag: Call): TemplateNode {
    const head = this.#expressions.headOf(tag)
    if (head.kind === 'expression') return { kind: 'write', value: head.value }
    const { helper } = head
    if (head.kind === 'block') {
      const why = `${helper} begins a block: write {{#${helper} …}}…{{/${helper}}}`
      throw this.#text.refuse(tag.path.loc.start, why)
    }
    const url = head.args.names.get('url')
    const wanted = { at: tag.path, places: url === undefined ? 1 : 0, names: ['url'] }
    const [given] = this.#expressions.checkArguments(helper, head.args, wanted)
    return { kind: 'media', helper, url: url ?? given, expects: head.expects }
  }

  *#blockNode(block: Block): Sliced<BlockNode> {
    return {
      ...this.#startOf(block),
      body: yield* this.nodesOf(block.program),
      otherwise: yield* this.nodesOf(block.inverse),
    }
  }

  #startOf(block: Block): Pick<BlockNode, 'kind' | 'value' | 'includeZero'> {
    const head = this.#expressions.headOf(block)
    if (head.kind === 'expression') {
      // `{{#eq a b}}` is a condition; a field's name repeats for a list and tests for anything else.
      const kind = head.value.kind === 'eq' ? 'if' : 'section'
      return { kind, value: head.value, includeZero: undefined }
    }
    const { helper, args } = head
    if (head.kind === 'media') {
      throw this.#text.refuse(block.path.loc.start, `${helper} does not begin a block`)
    }
    const isCondition = helper === 'if' || helper === 'unless'
    const wanted = { at: block.path, places: 1, names: isCondition ? ['includeZero'] : [] }
    const [value] = this.#expressions.checkArguments(helper, args, wanted)
    return { kind: head.helper, value, includeZero: args.names.get('includeZero') }
  }
}
