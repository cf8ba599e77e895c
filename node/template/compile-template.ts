// Compiles a template: pieces, then a tree with its white space settled, then nodes.

import { assert } from '../../lib/assert.ts'
import { ServiceError } from '../../lib/errors.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { draftContent } from './draft.ts'
import type { DraftBlock, DraftBody, DraftNode, Strip } from './draft.ts'
import { ExpressionParser, writtenName } from './parse-expression.ts'
import type { TagHead } from './parse-expression.ts'
import { syntaxError } from './template-error.ts'
import { TemplateLexer } from './template-lexer.ts'
import type { Tag } from './template-lexer.ts'
import type { BlockNode, Template, TemplateNode } from './template.ts'
import { settleWhiteSpace } from './white-space.ts'

/** In UTF-16 units. Templates are written by people; the longest step grows with it. */
export const TEMPLATE_LENGTH_MAX = 64 * 1024
/** Blocks within blocks, with each `{{else if}}`: compiling and rendering them recurse. */
const BLOCK_DEPTH_MAX = 64

/**
 * Compiles the text of a template. Throws INVALID_ARGUMENT with line, column and reason for text that
 * is not a template.
 */
export function* compileTemplate(source: string): Sliced<Template> {
  if (source.length > TEMPLATE_LENGTH_MAX) {
    const message = `template: it has ${source.length} characters; the maximum is ${TEMPLATE_LENGTH_MAX}`
    throw new ServiceError('INVALID_ARGUMENT', message)
  }
  const lexer = new TemplateLexer(source)
  const tree = new TreeBuilder(source)
  for (let piece = lexer.next(); piece !== undefined; piece = lexer.next()) {
    if (piece.kind === 'content') tree.addContent(piece.text)
    else tree.addTag(piece)
    yield
  }
  const root = tree.finish()
  yield* settleWhiteSpace(root, true)
  return { nodes: yield* buildNodes(root) }
}

/** A block that is not closed yet. */
interface OpenBlock {
  readonly tag: Tag
  readonly makes: DraftBlock['makes']
  /** `{{^a}}` */
  readonly isInverse: boolean
  readonly isChained: boolean
  readonly first: DraftNode[]
  second: DraftBody | undefined
  elseStrip: Strip | undefined
}

class TreeBuilder {
  readonly #source: string
  readonly #root: DraftNode[] = []
  readonly #open: OpenBlock[] = []
  #nodes: DraftNode[] = this.#root

  constructor(source: string) {
    this.#source = source
  }

  addContent(text: string): void {
    this.#nodes.push(draftContent(text))
  }

  addTag(tag: Tag): void {
    switch (tag.kind) {
      case 'comment':
        this.#nodes.push({ kind: 'tag', node: undefined, strip: stripOf(tag) })
        return
      case 'value':
        this.#nodes.push({ kind: 'tag', node: this.#valueNode(tag), strip: stripOf(tag) })
        return
      case 'open':
      case 'open-inverse':
        this.#begin(tag, false)
        return
      case 'else':
        this.#beginElse(tag, false)
        return
      case 'else-chain':
        this.#beginElse(tag, true)
        this.#begin(tag, true)
        return
      case 'close':
        this.#close(tag)
    }
  }

  finish(): readonly DraftNode[] {
    const open = this.#open.findLast(({ isChained }) => !isChained)
    if (open === undefined) return this.#root
    const name = writtenName(open.tag.words)
    throw this.#refuse(open.tag, `this block is not closed: {{/${name}}} is missing`)
  }

  #valueNode(tag: Tag): TemplateNode {
    const parser = this.#parserOf(tag)
    const head = parser.parseHead()
    if (head.kind === 'expression') return { kind: 'write', value: head.value }
    const { helper } = head
    if (head.kind === 'block') {
      throw this.#refuse(tag, `${helper} begins a block: write {{#${helper} …}}…{{/${helper}}}`)
    }
    const url = head.args.names.get('url')
    const places = url === undefined ? 1 : 0
    const [given] = parser.checkArguments(helper, head.args, { at: tag.at, places, names: ['url'] })
    return { kind: 'media', helper, url: url ?? given, expects: head.expects }
  }

  #begin(tag: Tag, isChained: boolean): void {
    if (this.#open.length >= BLOCK_DEPTH_MAX) {
      throw this.#refuse(tag, `blocks and their {{else if}} nest deeper than ${BLOCK_DEPTH_MAX}`)
    }
    const makes = this.#blockOf(tag)
    const isInverse = tag.kind === 'open-inverse'
    const first: DraftNode[] = []
    this.#open.push({
      tag,
      makes,
      isInverse,
      isChained,
      first,
      second: undefined,
      elseStrip: undefined,
    })
    this.#nodes = first
  }

  #blockOf(tag: Tag): DraftBlock['makes'] {
    const parser = this.#parserOf(tag)
    const head = parser.parseHead()
    if (head.kind === 'expression') return this.#sectionOf(head)
    if (head.kind === 'media') throw this.#refuse(tag, `${head.helper} does not begin a block`)
    const { helper, args } = head
    const isCondition = helper === 'if' || helper === 'unless'
    const names = isCondition ? ['includeZero'] : []
    const [value] = parser.checkArguments(helper, args, { at: tag.at, places: 1, names })
    return { kind: helper, value, includeZero: args.names.get('includeZero') }
  }

  /** `{{#eq a b}}` is a condition; a field's name repeats for a list and tests for anything else. */
  #sectionOf({ value }: Extract<TagHead, { kind: 'expression' }>): DraftBlock['makes'] {
    return { kind: value.kind === 'eq' ? 'if' : 'section', value, includeZero: undefined }
  }

  #beginElse(tag: Tag, isChained: boolean): void {
    const block = this.#open.at(-1)
    if (block === undefined) throw this.#refuse(tag, '{{else}} stands in no block')
    if (block.second !== undefined) throw this.#refuse(tag, 'this block has an {{else}} already')
    if (isChained && block.isInverse) {
      throw this.#refuse(tag, '{{else …}} cannot stand in a block that begins with {{^')
    }
    block.second = { nodes: [], isChained }
    block.elseStrip = stripOf(tag)
    this.#nodes = block.second.nodes
  }

  #close(tag: Tag): void {
    const open = this.#open.findLast(({ isChained }) => !isChained)
    const name = writtenName(tag.words)
    if (open === undefined) throw this.#refuse(tag, `{{/${name}}} closes no block`)
    const opened = writtenName(open.tag.words)
    if (opened !== name) {
      throw this.#refuse(tag, `{{/${name}}} closes a block that is named ${opened}`)
    }
    for (;;) {
      const block = this.#open.pop()
      assert(block !== undefined, 'a chained block stands in another')
      const outer = this.#open.at(-1)
      this.#nodes = outer === undefined ? this.#root : (outer.second?.nodes ?? outer.first)
      this.#nodes.push(finishedBlock(block, stripAtEnd(block, outer, tag)))
      if (block === open) return
    }
  }

  #parserOf({ words, at }: Tag): ExpressionParser {
    return new ExpressionParser(this.#source, words, at)
  }

  #refuse({ at }: Tag, why: string): Error {
    return syntaxError(this.#source, at, why)
  }
}

function stripOf({ stripsBefore, stripsBehind }: Tag): Strip {
  return { before: stripsBefore, behind: stripsBehind }
}

/** As in Handlebars: the second `{{else if}}` and later ones take their own tag for their end. */
function stripAtEnd(block: OpenBlock, outer: OpenBlock | undefined, close: Tag): Strip {
  return stripOf(block.isChained && outer?.isChained === true ? block.tag : close)
}

function finishedBlock(block: OpenBlock, closeStrip: Strip): DraftBlock {
  const first: DraftBody = { nodes: block.first, isChained: false }
  const { second, elseStrip, makes } = block
  const bodies = block.isInverse
    ? { body: second, otherwise: first }
    : { body: first, otherwise: second }
  return { kind: 'block', makes, ...bodies, openStrip: stripOf(block.tag), elseStrip, closeStrip }
}

function* buildNodes(drafts: readonly DraftNode[]): Sliced<readonly TemplateNode[]> {
  const nodes: TemplateNode[] = []
  for (const draft of drafts) {
    yield
    if (draft.kind === 'block') nodes.push(yield* buildBlock(draft))
    else if (draft.kind === 'tag' && draft.node !== undefined) nodes.push(draft.node)
    else if (draft.kind === 'content' && draft.text !== '') {
      nodes.push({ kind: 'text', text: draft.text })
    }
  }
  return nodes
}

function* buildBlock({ makes, body, otherwise }: DraftBlock): Sliced<BlockNode> {
  return {
    ...makes,
    body: yield* buildNodes(body?.nodes ?? []),
    otherwise: yield* buildNodes(otherwise?.nodes ?? []),
  }
}
