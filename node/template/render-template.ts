// Renders a compiled template over a document: walks its nodes, in steps. There is no code but this; a
// template cannot run anything else.

import { unreachable } from '../../lib/assert.ts'
import type { Sliced } from '../../lib/sliced.ts'
import { isRawNumber } from '../document/exact-json.ts'
import type { JsonValue } from '../document/exact-json.ts'
import { isJsonArray, isJsonObject, namesOf } from '../document/json-object.ts'
import { documentTexts } from './readable-text.ts'
import { encodeToon, parseToonOptions } from './encode-toon.ts'
import { equalValues } from './equal-values.ts'
import { BoundedText, RenderBudget } from './render-budget.ts'
import type { RenderLimits } from './render-budget.ts'
import { enter, nameOf, ownMember, resolvePath } from './scope.ts'
import type { LoopRound, Scope } from './scope.ts'
import { scrubHtml } from './scrub-html.ts'
import { renderError } from './template-error.ts'
import type {
  BlockNode,
  Expression,
  LookupExpression,
  MediaExpectation,
  Template,
  TemplateNode,
  TemplateValue,
  ToonExpression,
} from './template.ts'
import { scalarText, writeValue } from './value-text.ts'

/** What a template makes of a document: texts and media, in their order. No text is empty. */
export type TemplateOutput = readonly TemplatePart[]

export type TemplatePart =
  | { readonly kind: 'text'; readonly text: string }
  /** The URL is as the document has it, unchecked. */
  | { readonly kind: 'media'; readonly url: string; readonly expects: MediaExpectation }

/**
 * Renders a template with `context` as its document: plain JSON. Throws INVALID_ARGUMENT for a limit
 * that is exceeded, which the message names, and for values that a helper cannot take.
 */
export function* renderTemplate(
  template: Template,
  context: JsonValue,
  limits: RenderLimits,
): Sliced<TemplateOutput> {
  const rendering = new Rendering(limits)
  const scope = { context, outer: undefined, round: undefined, root: context }
  yield* rendering.write(template.nodes, scope)
  return rendering.finish()
}

/** The smallest double has 324 zeros. */
const ZEROS_MAX = 400

class Rendering {
  readonly #budget: RenderBudget
  readonly #out: BoundedText
  readonly #parts: TemplatePart[] = []
  #mediaCount = 0

  constructor(limits: RenderLimits) {
    this.#budget = new RenderBudget(limits)
    this.#out = new BoundedText(this.#budget, 'the rendered text')
  }

  finish(): TemplateOutput {
    this.#endText()
    return this.#parts
  }

  *write(nodes: readonly TemplateNode[], scope: Scope): Sliced<void> {
    for (const node of nodes) {
      if (this.#budget.spend()) yield
      switch (node.kind) {
        case 'text':
          this.#out.add(node.text)
          break
        case 'write':
          yield* this.#writeValue(node.value, scope)
          break
        case 'media':
          this.#addMedia(yield* this.#evaluate(node.url, scope), node)
          break
        case 'if':
        case 'unless':
        case 'each':
        case 'with':
        case 'section':
          yield* this.#writeBlock(node, scope)
          break
        default:
          unreachable(node)
      }
    }
  }

  *#writeValue(expression: Expression, scope: Scope): Sliced<void> {
    const value = yield* this.#evaluate(expression, scope)
    yield* writeValue(value, { budget: this.#budget, out: this.#out })
  }

  /** A document without the URL has no medium. */
  #addMedia(url: TemplateValue, node: Extract<TemplateNode, { kind: 'media' }>): void {
    if (url === undefined || url === null || url === '') return
    if (typeof url !== 'string') throw renderError(`${node.helper}: the URL must be a string`)
    const { mediaMax } = this.#budget.limits
    if (this.#mediaCount >= mediaMax) throw renderError(`it names more than ${mediaMax} media`)
    this.#mediaCount += 1
    this.#endText()
    this.#parts.push({ kind: 'media', url, expects: node.expects })
  }

  #endText(): void {
    const text = this.#out.take()
    if (text !== '') this.#parts.push({ kind: 'text', text })
  }

  *#writeBlock(block: BlockNode, scope: Scope): Sliced<void> {
    const value = yield* this.#evaluate(block.value, scope)
    const { kind, body, otherwise } = block
    switch (kind) {
      case 'if':
      case 'unless': {
        const isTrue = isTruthy(value) || (value === 0 && (yield* this.#countsZero(block, scope)))
        yield* this.write(isTrue === (kind === 'if') ? body : otherwise, scope)
        return
      }
      case 'with':
        yield* isTruthy(value) || value === 0
          ? this.write(body, enter(scope, value))
          : this.write(otherwise, scope)
        return
      case 'each':
        yield* this.#writeEach(block, value, scope)
        return
      case 'section':
        yield* this.#writeSection(block, value, scope)
        return
      default:
        unreachable(kind)
    }
  }

  *#countsZero({ includeZero }: BlockNode, scope: Scope): Sliced<boolean> {
    return includeZero !== undefined && isTruthy(yield* this.#evaluate(includeZero, scope))
  }

  *#writeSection(block: BlockNode, value: TemplateValue, scope: Scope): Sliced<void> {
    if (isJsonArray(value)) yield* this.#writeEach(block, value, scope)
    else if (value === undefined || value === null || value === false) {
      yield* this.write(block.otherwise, scope)
    } else {
      yield* this.write(block.body, enter(scope, value === true ? scope.context : value))
    }
  }

  *#writeEach(block: BlockNode, value: TemplateValue, scope: Scope): Sliced<void> {
    const names = isJsonObject(value) ? namesOf(value) : undefined
    const length = names?.length ?? (isJsonArray(value) ? value.length : 0)
    if (length === 0) yield* this.write(block.otherwise, scope)
    const outer = scope.round
    for (let index = 0; index < length; index += 1) {
      if (this.#budget.spend()) yield
      const key = names?.[index] ?? index
      const round: LoopRound = { index, key, first: index === 0, last: index === length - 1, outer }
      yield* this.write(block.body, enter(scope, ownMember(value, String(key)), round))
    }
  }

  *#evaluate(expression: Expression, scope: Scope): Sliced<TemplateValue> {
    switch (expression.kind) {
      case 'literal':
        return expression.value
      case 'path':
        if (this.#budget.spend(1 + expression.parts.length)) yield
        return resolvePath(expression, scope)
      case 'eq': {
        const left = yield* this.#evaluate(expression.left, scope)
        const right = yield* this.#evaluate(expression.right, scope)
        return yield* equalValues(left, right, { budget: this.#budget, depth: 0 })
      }
      case 'lookup':
        return yield* this.#lookUp(expression, scope)
      case 'scrubHtml': {
        const html = scalarText(yield* this.#evaluate(expression.value, scope))
        if (html === undefined) throw renderError('scrubHtml: the value must be a string')
        return yield* scrubHtml(html, this.#budget)
      }
      case 'texts':
        return yield* documentTexts(yield* this.#evaluate(expression.value, scope), this.#budget)
      case 'encodeToon':
        return yield* this.#encodeToon(expression, scope)
      default:
        return unreachable(expression)
    }
  }

  *#lookUp(lookup: LookupExpression, scope: Scope): Sliced<TemplateValue> {
    const object = yield* this.#evaluate(lookup.object, scope)
    const name = yield* this.#evaluate(lookup.name, scope)
    if (this.#budget.spend()) yield
    // As Handlebars: 0, false and an empty text have no members and stand for themselves.
    return object ? ownMember(object, nameOf(name)) : object
  }

  *#encodeToon(toon: ToonExpression, scope: Scope): Sliced<string> {
    const options = parseToonOptions({
      lengthMarker: toon.lengthMarker && (yield* this.#evaluate(toon.lengthMarker, scope)),
      indent: toon.indent && (yield* this.#evaluate(toon.indent, scope)),
      delimiter: toon.delimiter && (yield* this.#evaluate(toon.delimiter, scope)),
    })
    return yield* encodeToon(yield* this.#evaluate(toon.value, scope), options, this.#budget)
  }
}

/** False: what is not there, null, false, 0, an empty text, an empty list. */
function isTruthy(value: TemplateValue): boolean {
  if (isJsonArray(value)) return value.length > 0
  return isRawNumber(value) ? hasDigits(value.rawJSON) : Boolean(value)
}

/** Whether a number is not zero. One that begins with ZEROS_MAX zeros is zero to a double, too. */
function hasDigits(text: string): boolean {
  return /^[-0.]*[1-9]/.test(text.slice(0, ZEROS_MAX))
}
