// The parts of texts that show best what was found.

export const FRAGMENTS_MAX = 3
/** UTF-16 units that a fragment aims at; marks come on top. */
export const FRAGMENT_LENGTH = 150
/** How far an edge moves to stand between two words. */
const EDGE_SLACK = 20

/** Where a word lies in the text, and the term it was found by. */
export interface Span {
  readonly start: number
  readonly end: number
  readonly term: string
}

export interface MarkedText {
  readonly text: string
  /** In the order in which they begin. */
  readonly spans: readonly Span[]
}

export interface Marks {
  readonly pre: string
  readonly post: string
}

interface Fragment {
  readonly text: string
  readonly spans: readonly Span[]
  readonly order: number
}

/** The best are those with the most different terms, then with the most words. */
export function cutFragments(texts: readonly MarkedText[], marks: Marks): readonly string[] {
  const fragments = texts
    .flatMap((marked) => fragmentsOf(marked))
    .map((one, order) => ({ ...one, order }))
  return fragments
    .toSorted(
      (a, b) => termsIn(b) - termsIn(a) || b.spans.length - a.spans.length || a.order - b.order,
    )
    .slice(0, FRAGMENTS_MAX)
    .toSorted((a, b) => a.order - b.order)
    .map((fragment) => render(fragment, marks))
}

function termsIn({ spans }: Fragment): number {
  return new Set(spans.map(({ term }) => term)).size
}

/** Words that are close together share a fragment, which stands around them. */
function fragmentsOf({ text, spans }: MarkedText): readonly Omit<Fragment, 'order'>[] {
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
  let floor = 0
  return groups.map((group, i) => {
    const start = group[0]?.start ?? 0
    const end = Math.max(...group.map((span) => span.end))
    const ceiling = Math.max(end, groups[i + 1]?.[0]?.start ?? text.length)
    const spare = Math.max(0, FRAGMENT_LENGTH - (end - start))
    const from = wordEdge(text, Math.max(floor, start - Math.floor(spare / 2)), start)
    const to = wordEdgeBefore(
      text,
      Math.min(ceiling, from + Math.max(FRAGMENT_LENGTH, end - from)),
      end,
    )
    floor = to
    const shifted = group.map(({ term, ...at }) => ({
      term,
      start: at.start - from,
      end: at.end - from,
    }))
    return { text: text.slice(from, to), spans: shifted }
  })
}

/** The first place from `at` on where a word begins, not behind `limit`. */
function wordEdge(text: string, at: number, limit: number): number {
  if (at === 0) return 0
  const end = Math.min(limit, at + EDGE_SLACK)
  for (let i = at; i < end; i += 1) if (/\s/.test(text[i - 1] ?? '')) return i
  return isInsidePair(text, at) ? at + 1 : at
}

/** The last place up to `at` where a word ends, not before `limit`. */
function wordEdgeBefore(text: string, at: number, limit: number): number {
  if (at >= text.length) return text.length
  const end = Math.max(limit, at - EDGE_SLACK)
  for (let i = at; i > end; i -= 1) if (/\s/.test(text[i] ?? '')) return i
  return isInsidePair(text, at) ? at - 1 : at
}

/** Half a character is no text. */
function isInsidePair(text: string, at: number): boolean {
  const unit = text.charCodeAt(at)
  return unit >= 0xdc00 && unit <= 0xdfff
}

/** Overlapping words are marked as one. */
function render({ text, spans }: Fragment, { pre, post }: Marks): string {
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
