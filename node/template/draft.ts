// The tree of a template before white space is settled.

import type { BlockNode, TemplateNode } from './template.ts'

/** Text between tags. Tags around it may take white space from its ends. */
export interface DraftContent {
  readonly kind: 'content'
  /** As written: what decides whether a tag stands alone on its line. */
  readonly original: string
  text: string
  isLeftStripped: boolean
  isRightStripped: boolean
}

/** Which sides of a tag have a `~`. */
export interface Strip {
  readonly before: boolean
  readonly behind: boolean
}

/** A tag that begins no block: what it writes, or nothing for a comment. */
export interface DraftTag {
  readonly kind: 'tag'
  readonly node: TemplateNode | undefined
  readonly strip: Strip
}

/** The nodes of a block's body, or those behind its `{{else}}`. */
export interface DraftBody {
  readonly nodes: DraftNode[]
  /** `{{else if}}`: the body is one block, which ends where the outer one ends. */
  readonly isChained: boolean
}

/** A block, as its tags stand. */
export interface DraftBlock {
  readonly kind: 'block'
  readonly makes: Pick<BlockNode, 'kind' | 'value' | 'includeZero'>
  /** Absent in `{{^a}}…{{/a}}`. */
  readonly body: DraftBody | undefined
  readonly otherwise: DraftBody | undefined
  readonly openStrip: Strip
  readonly elseStrip: Strip | undefined
  readonly closeStrip: Strip
}

export type DraftNode = DraftContent | DraftTag | DraftBlock

export function draftContent(text: string): DraftContent {
  return { kind: 'content', original: text, text, isLeftStripped: false, isRightStripped: false }
}
