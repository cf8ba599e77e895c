// What names mean while a template is rendered: the context, the contexts around it, and the loops.
// Only own members of plain JSON are ever read, so that no name reaches a prototype.

import { isRawNumber } from '../document/exact-json.ts'
import { renderError } from './template-error.ts'
import type { LoopVariable, PathExpression, TemplateValue } from './template.ts'

/** The innermost round of a loop, and those around it. */
export interface LoopRound {
  readonly index: number
  readonly key: string | number
  readonly first: boolean
  readonly last: boolean
  readonly outer: LoopRound | undefined
}

/** Where a node is rendered. */
export interface Scope {
  readonly context: TemplateValue
  readonly outer: Scope | undefined
  readonly round: LoopRound | undefined
  /** The whole document. */
  readonly root: TemplateValue
}

/** The scope of a block's body. A block whose context is the same adds no level for `../`. */
export function enter(scope: Scope, context: TemplateValue, round = scope.round): Scope {
  const outer = context === scope.context ? scope.outer : scope
  return { context, outer, round, root: scope.root }
}

export function resolvePath(path: PathExpression, scope: Scope): TemplateValue {
  let value =
    path.from === 'context' ? contextAt(scope, path.up) : variableAt(path.from, path.up, scope)
  for (const part of path.parts) value = ownMember(value, part)
  return value
}

function contextAt(scope: Scope, up: number): TemplateValue {
  let found: Scope | undefined = scope
  for (let left = up; left > 0; left -= 1) found = found?.outer
  return found?.context
}

function variableAt(name: LoopVariable, up: number, { round, root }: Scope): TemplateValue {
  if (name === 'root') return root
  let found = round
  for (let left = up; left > 0; left -= 1) found = found?.outer
  return found?.[name]
}

/** A member of an object, an element or the `length` of a list, a character or the `length` of a text. */
export function ownMember(value: TemplateValue, name: string): TemplateValue {
  if (value === undefined || value === null || isRawNumber(value)) return undefined
  if (typeof value !== 'object' && typeof value !== 'string') return undefined
  const found = Object.getOwnPropertyDescriptor(value, name)?.value
  return found
}

/** The name that `lookup` reads, from a value of the document. */
export function nameOf(value: TemplateValue): string {
  if (typeof value === 'string' || typeof value === 'number') return String(value)
  throw renderError('lookup: the name of the member must be a string or a number')
}
