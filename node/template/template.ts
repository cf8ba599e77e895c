// What a template is once it is compiled: a tree of nodes, and the expressions in them. Every name of a
// helper and every number of arguments was checked, so that rendering meets only bad data.

import type { JsonValue } from '../document/exact-json.ts'

/** A value that a template computes. `undefined` stands for what is not there. */
export type TemplateValue = JsonValue | undefined

/** Computes a value. */
export type Expression =
  | { readonly kind: 'literal'; readonly value: TemplateValue }
  | PathExpression
  | { readonly kind: 'eq'; readonly left: Expression; readonly right: Expression }
  | LookupExpression
  | { readonly kind: 'scrubHtml' | 'texts'; readonly value: Expression }
  | ToonExpression

/** `a.b`, `../a`, `@root.a`, `@index`. */
export interface PathExpression {
  readonly kind: 'path'
  /** Where it begins: the context, or what the innermost loop says. */
  readonly from: 'context' | LoopVariable
  /** How many contexts, or loops, further out. */
  readonly up: number
  readonly parts: readonly string[]
}

export const LOOP_VARIABLES = ['root', 'index', 'key', 'first', 'last'] as const
export type LoopVariable = (typeof LOOP_VARIABLES)[number]

/** `lookup object name` */
export interface LookupExpression {
  readonly kind: 'lookup'
  readonly object: Expression
  readonly name: Expression
}

/** `encodeToon value lengthMarker=true indent=2 delimiter=","`; an option that is absent has its default. */
export interface ToonExpression {
  readonly kind: 'encodeToon'
  readonly value: Expression
  readonly lengthMarker: Expression | undefined
  readonly indent: Expression | undefined
  readonly delimiter: Expression | undefined
}

/** What the URL of a media directive must lead to: any medium, a PDF, or a text (HTML or plain). */
export type MediaExpectation = 'any' | 'pdf' | 'text'

/** A part of a template that writes something. */
export type TemplateNode =
  | { readonly kind: 'text'; readonly text: string }
  | { readonly kind: 'write'; readonly value: Expression }
  | {
      readonly kind: 'media'
      readonly helper: string
      readonly url: Expression
      readonly expects: MediaExpectation
    }
  | BlockNode

/** What a block does with its expression. `section` is a block that is named as a field: `{{#tags}}`. */
export type BlockKind = 'if' | 'unless' | 'each' | 'with' | 'section'

/** `{{#if a}}body{{else}}otherwise{{/if}}` */
export interface BlockNode {
  readonly kind: BlockKind
  readonly value: Expression
  /** For `if` and `unless`: whether 0 counts as true. */
  readonly includeZero: Expression | undefined
  readonly body: readonly TemplateNode[]
  readonly otherwise: readonly TemplateNode[]
}

/** A compiled template. Immutable, so one may be rendered many times at once. */
export interface Template {
  readonly nodes: readonly TemplateNode[]
}
