// Cuts the parts of texts that show the matches best.

import type { Sliced } from '../../../../lib/sliced.ts'
import type { Poll } from '../poll.ts'

const FRAGMENTS_MAX = 3
/** The length that a fragment aims at in UTF-16 units, without its marks. */
const FRAGMENT_LENGTH = 150
/** How far an edge may move to lie between two words. */
const EDGE_SLACK = 20

/** The place of a word in the text, and the term that it matched. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly term: string
}

/** A text and its matching words. */
export interface MarkedText {
  readonly text: string
  /** Ordered by their starts. */
  readonly spans: readonly Span[]
}

/** How fragments are rendered. */
export interface FragmentOptions {
  readonly pre: string
  readonly post: string
  /** Keeps tags and entities of the text whole. */
  readonly isHtml: boolean
  readonly poll: Poll
}

interface Fragment {
  readonly text: string
  readonly spans: readonly Span[]
  /** The number of distinct terms. */
  readonly termCount: number
  readonly order: number
}

/** The cost of a word in a fragment, and of a fragment. */
const SPAN_COST = 32

/**
 * Cuts the best fragments. Those with the most distinct terms are best, then those with the most
 * words.
 */
export function* cutFragments(
  texts: readonly MarkedText[],
  options: FragmentOptions,
): Sliced<readonly string[]> {
  const { poll } = options
  let best: Fragment[] = []
  let order = 0
  for (const { text, spans } of texts) {
    const groups = groupsOf(spans)
    let floor = 0
    for (const [i, group] of groups.entries()) {
      const ceiling = groups[i + 1]?.[0]?.start ?? text.length
      const place = placeOf({ text, group, floor, ceiling, isHtml: options.isHtml })
      floor = place.to
      const fragment = { ...fragmentOf(text, group, place), order }
      order += 1
      best = [...best, fragment].toSorted(compareFragments).slice(0, FRAGMENTS_MAX)
      if (poll.spend((group.length + 1) * SPAN_COST)) yield poll.renewed()
    }
    if (poll.spend(spans.length)) yield poll.renewed()
  }
  return best.toSorted((a, b) => a.order - b.order).map((fragment) => render(fragment, options))
}

function compareFragments(a: Fragment, b: Fragment): number {
  return b.termCount - a.termCount || b.spans.length - a.spans.length || a.order - b.order
}

/** Groups words that are close enough for one fragment. */
function groupsOf(spans: readonly Span[]): readonly (readonly Span[])[] {
  const groups: Span[][] = []
  for (const span of spans) {
    const group = groups.at(-1)
    const first = group?.[0]
    if (group !== undefined && first !== undefined && span.end - first.start <= FRAGMENT_LENGTH) {
      group.push(span)
    } else {
      groups.push([span])
    }
  }
  return groups
}

interface FragmentBounds {
  readonly from: number
  readonly to: number
}

/**
 * A place around the group, between the end of the previous fragment and the start of the next
 * group.
 */
function placeOf(around: {
  readonly text: string
  readonly group: readonly Span[]
  readonly floor: number
  readonly ceiling: number
  readonly isHtml: boolean
}): FragmentBounds {
  const { text, group, floor, isHtml } = around
  const start = group[0]?.start ?? 0
  const end = group.reduce((most, span) => Math.max(most, span.end), 0)
  const ceiling = Math.max(end, around.ceiling)
  const spare = Math.max(0, FRAGMENT_LENGTH - (end - start))
  const from = wordEdge(text, Math.max(floor, start - Math.floor(spare / 2)), start)
  const length = Math.max(FRAGMENT_LENGTH, end - from)
  const to = wordEdgeBefore(text, Math.min(ceiling, from + length), end)
  if (!isHtml) return { from, to }
  return {
    from: Math.min(behindMarkup(text, from), start),
    to: Math.max(beforeMarkup(text, to), end),
  }
}

function fragmentOf(text: string, group: readonly Span[], { from, to }: FragmentBounds) {
  const spans = group.map(({ term, start, end }) => ({
    term,
    start: start - from,
    end: end - from,
  }))
  const termCount = new Set(group.map(({ term }) => term)).size
  return { text: text.slice(from, to), spans, termCount }
}

/** The first offset from `at` on where a word begins, at most `limit`. */
function wordEdge(text: string, at: number, limit: number): number {
  if (at === 0) return 0
  const end = Math.min(limit, at + EDGE_SLACK)
  for (let i = at; i < end; i += 1) if (/\s/.test(text[i - 1] ?? '')) return i
  return isInsidePair(text, at) ? at + 1 : at
}

/** The last offset up to `at` where a word ends, at least `limit`. */
function wordEdgeBefore(text: string, at: number, limit: number): number {
  if (at >= text.length) return text.length
  const end = Math.max(limit, at - EDGE_SLACK)
  for (let i = at; i > end; i -= 1) if (/\s/.test(text[i] ?? '')) return i
  return isInsidePair(text, at) ? at - 1 : at
}

/** Whether the offset splits a surrogate pair. */
function isInsidePair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** Longer tags and entities are cut. */
const MARKUP_LENGTH_MAX = 1000
const ENTITY_BEGIN = /&#?[0-9a-z]{0,15}$/i
const ENTITY_END = /^#?[0-9a-z]{0,15};/i

/** The start of the tag or entity around the offset; the offset itself if there is none. */
function beforeMarkup(text: string, at: number): number {
  const before = text.slice(Math.max(0, at - MARKUP_LENGTH_MAX), at)
  const tag = before.lastIndexOf('<')
  if (tag > before.lastIndexOf('>') && /[a-z/!?]/i.test(before[tag + 1] ?? text[at] ?? '')) {
    return at - before.length + tag
  }
  const entity = ENTITY_BEGIN.exec(before)
  if (entity === null || !ENTITY_END.test(text.slice(at, at + 20))) return at
  return at - before.length + entity.index
}

/** The end of the tag or entity around the offset; the offset itself if there is none. */
function behindMarkup(text: string, at: number): number {
  const begin = beforeMarkup(text, at)
  if (begin === at) return at
  const end = text.indexOf(text[begin] === '<' ? '>' : ';', at)
  return end < 0 || end - at > MARKUP_LENGTH_MAX ? at : end + 1
}

/** Overlapping words get one mark. */
function render({ text, spans }: Fragment, { pre, post }: FragmentOptions): string {
  let out = ''
  let at = 0
  let open: { start: number; end: number } | undefined
  const close = (): void => {
    if (open === undefined) return
    out += `${text.slice(at, open.start)}${pre}${text.slice(open.start, open.end)}${post}`
    at = open.end
  }
  for (const { start, end } of spans) {
    if (open !== undefined && start < open.end) {
      open = { start: open.start, end: Math.max(open.end, end) }
      continue
    }
    close()
    open = { start, end }
  }
  close()
  return out + text.slice(at)
}
