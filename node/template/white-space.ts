// Removes the white space that tags take: where they have a `~`, and where tags of blocks or comments
// stand alone on their lines. The rules, and their order, are those of Handlebars' WhitespaceControl.

import type { Sliced } from '../../lib/sliced.ts'
import type { DraftBlock, DraftBody, DraftContent, DraftNode, Strip } from './draft.ts'

/** What a node does to its neighbours. */
interface Effect {
  readonly before: boolean
  readonly behind: boolean
  readonly isOpenAlone: boolean
  readonly isCloseAlone: boolean
  readonly isInlineAlone: boolean
}

/** Settles the white space of all content below, in place. */
export function* settleWhiteSpace(nodes: readonly DraftNode[], isRoot: boolean): Sliced<void> {
  for (const [at, node] of nodes.entries()) {
    yield
    const effect = yield* effectOf(node)
    if (effect !== undefined) settleAround(nodes, at, { node, effect, isRoot })
  }
}

interface Settled {
  readonly node: DraftNode
  readonly effect: Effect
  readonly isRoot: boolean
}

function settleAround(nodes: readonly DraftNode[], at: number, settled: Settled): void {
  const { node, effect, isRoot } = settled
  const [previous, next] = [nodes[at - 1], nodes[at + 1]]
  const isPreviousBlank = endsLine(nodes, at, isRoot)
  const isNextBlank = beginsLine(nodes, at, isRoot)
  if (effect.behind) trimStart(next, 'all')
  if (effect.before) trimEnd(previous, 'all')
  if (effect.isInlineAlone && isPreviousBlank && isNextBlank) trimLine(previous, next)
  if (node.kind !== 'block') return
  const { first, last } = endsOf(node)
  if (effect.isOpenAlone && isPreviousBlank) trimLine(previous, first.at(0))
  if (effect.isCloseAlone && isNextBlank) trimLine(last.at(-1), next)
}

/** The first nodes behind a block's opening tag, and the last before its closing tag. */
function endsOf({ body, otherwise }: DraftBlock): {
  readonly first: readonly DraftNode[]
  readonly last: readonly DraftNode[]
} {
  const [first = otherwise, last = body] = [body, otherwise]
  return { first: first?.nodes ?? [], last: last?.nodes ?? [] }
}

function* effectOf(node: DraftNode): Sliced<Effect | undefined> {
  if (node.kind === 'content') return undefined
  if (node.kind === 'block') return yield* blockEffect(node)
  const isInlineAlone = node.node === undefined
  return { ...node.strip, isOpenAlone: false, isCloseAlone: false, isInlineAlone }
}

function* blockEffect(block: DraftBlock): Sliced<Effect> {
  yield* settleWhiteSpace(block.body?.nodes ?? [], false)
  yield* settleWhiteSpace(block.otherwise?.nodes ?? [], false)
  const { openStrip, closeStrip, elseStrip, body, otherwise } = block
  const { first } = endsOf(block)
  const hasTwo = body !== undefined && otherwise !== undefined
  const second = hasTwo ? firstOfChain(otherwise).nodes : undefined
  const last = second ?? first
  const effect = {
    before: openStrip.before,
    behind: closeStrip.behind,
    isOpenAlone: beginsLine(first, -1, false),
    isCloseAlone: endsLine(last, last.length, false),
    isInlineAlone: false,
  }
  if (openStrip.behind) trimStart(first[0], 'all')
  if (second !== undefined) stripAroundElse(first, second, elseStrip)
  if (closeStrip.before) trimEnd(last.at(-1), 'all')
  return effect
}

function stripAroundElse(
  first: readonly DraftNode[],
  second: readonly DraftNode[],
  strip: Strip | undefined,
): void {
  if (strip?.before === true) trimEnd(first.at(-1), 'all')
  if (strip?.behind === true) trimStart(second[0], 'all')
  if (endsLine(first, first.length, false) && beginsLine(second, -1, false)) {
    trimLine(first.at(-1), second[0])
  }
}

/** Takes the rest of a line whose tag stands alone: first behind the tag, then before it. */
function trimLine(before: DraftNode | undefined, behind: DraftNode | undefined): void {
  trimStart(behind, 'line')
  trimEnd(before, 'line')
}

function firstOfChain(body: DraftBody): DraftBody {
  const [first] = body.nodes
  if (!body.isChained || first?.kind !== 'block') return body
  return first.body ?? body
}

/** Whether nothing but white space stands between the node and the beginning of its line. */
function endsLine(nodes: readonly DraftNode[], at: number, isRoot: boolean): boolean {
  const previous = nodes[at - 1]
  if (previous === undefined) return isRoot
  if (previous.kind !== 'content') return false
  const { original } = previous
  const kept = original.trimEnd().length
  const mayBeWhole = nodes[at - 2] === undefined && isRoot
  return (kept === 0 && mayBeWhole) || original.indexOf('\n', kept) !== -1
}

/** Whether nothing but white space stands between the node and the end of its line. */
function beginsLine(nodes: readonly DraftNode[], at: number, isRoot: boolean): boolean {
  const next = nodes[at + 1]
  if (next === undefined) return isRoot
  if (next.kind !== 'content') return false
  const { original } = next
  const blank = original.length - original.trimStart().length
  const mayBeWhole = nodes[at + 2] === undefined && isRoot
  const newline = original.indexOf('\n')
  return (blank === original.length && mayBeWhole) || (newline !== -1 && newline < blank)
}

type Extent = 'all' | 'line'

/** `line`: spaces and tabs to the end of the line, with it; once for each content. */
function trimStart(node: DraftNode | undefined, extent: Extent): void {
  if (node?.kind !== 'content' || (extent === 'line' && node.isRightStripped)) return
  const before = node.text
  node.text = extent === 'all' ? before.trimStart() : before.replace(/^[ \t]*\r?\n?/, '')
  node.isRightStripped = node.text !== before
}

/** `line`: spaces and tabs back to the beginning of the line; once for each content. */
function trimEnd(node: DraftNode | undefined, extent: Extent): void {
  if (node?.kind !== 'content' || (extent === 'line' && node.isLeftStripped)) return
  const before = node.text
  node.text = extent === 'all' ? before.trimEnd() : withoutTrailingBlanks(node)
  node.isLeftStripped = node.text !== before
}

function withoutTrailingBlanks({ text }: DraftContent): string {
  let end = text.length
  while (end > 0 && (text[end - 1] === ' ' || text[end - 1] === '\t')) end -= 1
  return text.slice(0, end)
}
