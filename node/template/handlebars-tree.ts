// The tree that Handlebars' parser makes: what is read of it. The package's own types are not found by a module
// (they import each other without an extension), make no union, and do not say what may be absent.

/** Where a node begins and ends: lines from 1, columns from 0. */
export interface Stretched {
  readonly loc: {
    readonly start: { readonly line: number; readonly column: number }
    readonly end: { readonly line: number; readonly column: number }
  }
}

/** The parts of a template or of one branch of a block, in their order. */
export interface Program {
  readonly body: readonly Statement[]
}

/** `path params… key=value…` in a tag or in parentheses. */
export interface Call extends Stretched {
  readonly path: Operand
  readonly params: readonly Operand[]
  readonly hash?: { readonly pairs: readonly { readonly key: string; readonly value: Operand }[] }
}

/** A block: `program` is absent in `{{^a}}…{{/a}}`, and `inverse` without an `{{else}}`. */
export interface Block extends Call {
  readonly type: 'BlockStatement'
  readonly program?: Program
  readonly inverse?: Program
}

export type Statement =
  | Block
  | (Call & { readonly type: 'MustacheStatement' })
  | { readonly type: 'ContentStatement'; readonly value: string }
  | { readonly type: 'CommentStatement' }

/** `a.b`, `../a`, `@index`. */
export interface Path extends Stretched {
  readonly type: 'PathExpression'
  /** `@` stands before it. */
  readonly data: boolean
  /** How often it begins with `../`. */
  readonly depth: number
  readonly parts: readonly (string | (Call & { readonly type: 'SubExpression' }))[]
  /** As it was written, without brackets. */
  readonly original: string
}

type Literal =
  | { readonly type: 'StringLiteral'; readonly value: string }
  | { readonly type: 'NumberLiteral'; readonly value: number }
  | { readonly type: 'BooleanLiteral'; readonly value: boolean }
  | { readonly type: 'NullLiteral' | 'UndefinedLiteral' }

/** What is a value or names one. `{{a=1}}` and its like are the last. */
export type Operand =
  | Path
  | (Call & { readonly type: 'SubExpression' })
  | (Literal & Stretched)
  | ({ readonly type: 'ArrayLiteral' | 'HashLiteral' } & Stretched)
