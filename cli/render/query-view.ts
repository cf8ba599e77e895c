// Shows the answer to one query: hits with their scores, facets as bars, and the time.

import { memberOf } from '../service/service-answers.ts'
import { edgeOf, paint } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { escapeControls } from './json-text.ts'
import { formatCount, plural } from './quantity.ts'
import { printable } from '../../lib/process/log-words.ts'
import { cutText, padEnd } from './text-width.ts'

/** Marks around found words. They are private-use characters, which texts do not hold. */
export const MARKS = { pre: '\ue000', post: '\ue001' } as const

const BAR_COLUMNS = 24
const KEY_COLUMNS = 28
const INDENT = '    '
/** Digits behind the point: of scores of words, and of others. */
const DIGITS = 2
const FINE_DIGITS = 4
/** The name of what words give, in `_index_scores`. */
const WORDS = 'full_text'

/** The texts before and after each found word of a highlight. */
export interface Marks {
  readonly pre: string
  readonly post: string
}

/** How an answer is shown. */
export interface QueryViewOptions {
  /** The marks that the query asked for. */
  readonly marks?: Marks
  /** Documents are as they were asked for. False: they are whole, and each is cut to one line, also in a pipe. */
  readonly isProjected?: boolean
}

/** The view of a single query's answer. */
export function queryView(
  answer: unknown,
  screen: Output,
  { marks = MARKS, isProjected = false }: QueryViewOptions = {},
): string {
  const [result] = listOf(memberOf(answer, 'responses'))
  const hits = memberOf(result, 'hits')
  const list = listOf(memberOf(hits, 'hits'))
  const style = { screen, marks, columns: columnsOf(screen, isProjected), digits: digitsOf(list) }
  const shown = list.flatMap((hit) => hitLines(hit, style))
  const facets = entriesOf(memberOf(result, 'aggregations')).flatMap(([name, facet]) =>
    facetLines(name, facet, screen),
  )
  const notes = [...noteLines(result, screen), ...suggestionLines(result, screen)]
  return [...shown, ...facets, ...notes, summary(result, screen)].join('\n')
}

/** Whether no document matches the single query. */
export function hasFoundNothing(answer: unknown): boolean {
  const [result] = listOf(memberOf(answer, 'responses'))
  return numberOf(memberOf(memberOf(result, 'hits'), 'total')) === 0
}

/** The cursor of the next page, as JSON; undefined after the last page. */
export function nextCursor(
  answer: unknown,
  page: { readonly offset?: number | undefined; readonly limit: number; readonly isFirst: boolean },
): string | undefined {
  const hits = memberOf(listOf(memberOf(answer, 'responses'))[0], 'hits')
  const shown = listOf(memberOf(hits, 'hits'))
  const seen = (page.offset ?? 0) + shown.length
  // After a cursor, the number of earlier hits is not known, so a full page may not be the last.
  const isLast = page.isFirst
    ? seen >= numberOf(memberOf(hits, 'total'))
    : shown.length < page.limit
  const sort = memberOf(shown.at(-1), '_sort')
  return isLast || !Array.isArray(sort) ? undefined : escapeControls(JSON.stringify(sort))
}

/** How all hits of a list are shown. */
interface HitStyle {
  readonly screen: Output
  readonly marks: Marks
  /** A document is cut there. */
  readonly columns: number
  /** Digits behind the point of all scores of the list. */
  readonly digits: number
}

function columnsOf(screen: Output, isProjected: boolean): number {
  return isProjected ? edgeOf(screen) : screen.columns
}

/** Scores of merged ranks are some hundredths, and differ in the digits behind; so are weak scores. */
function digitsOf(hits: readonly unknown[]): number {
  const largest = Math.max(...hits.map((hit) => Math.abs(numberOf(memberOf(hit, '_score')))))
  return hits.some(isMerged) || (largest > 0 && largest < 0.1) ? FINE_DIGITS : DIGITS
}

function hitLines(hit: unknown, style: HitStyle): string[] {
  const { screen, marks, columns, digits } = style
  const key = paint(screen, 'bold', printable(String(memberOf(hit, '_id'))))
  const lines = [
    `${paint(screen, 'dim', scoreOf(hit, digits).padStart(7))}  ${key}${foundIn(hit, screen)}`,
  ]
  const marked = entriesOf(memberOf(hit, '_highlight'))
  for (const [field, fragments] of marked) {
    for (const fragment of listOf(fragments)) {
      lines.push(
        `${INDENT}${paint(screen, 'cyan', field)}  ${markedText(String(fragment), screen, marks)}`,
      )
    }
  }
  lines.push(...matchedLines(hit, screen))
  if (lines.length > 1) return lines
  const source = printable(JSON.stringify(memberOf(hit, '_source') ?? {}))
  return [...lines, INDENT + cutText(source, Math.max(20, columns - INDENT.length))]
}

/** The part of a long text that an index of vectors found, where it keeps the texts of parts. */
function matchedLines(hit: unknown, screen: Output): string[] {
  const matched = memberOf(hit, '_matched')
  const text = memberOf(matched, 'text')
  if (typeof text !== 'string') return []
  const index = printable(String(memberOf(matched, 'index')))
  const columns = Math.max(20, edgeOf(screen) - INDENT.length - index.length - 2)
  const shown = cutText(printable(text.replaceAll(/\s+/g, ' ').trim()), columns)
  return [`${INDENT}${paint(screen, 'cyan', index)}  ${shown}`]
}

function scoreOf(hit: unknown, digits: number): string {
  return numberOf(memberOf(hit, '_score')).toFixed(digits)
}

/** What each index gave to a merged hit. */
function foundIn(hit: unknown, screen: Output): string {
  if (!isMerged(hit)) return ''
  const scores = entriesOf(memberOf(hit, '_index_scores')).map(
    ([name, value]) =>
      `${printable(name)} ${numberOf(value).toFixed(name === WORDS ? DIGITS : FINE_DIGITS)}`,
  )
  return `  ${paint(screen, 'dim', scores.join(' · '))}`
}

/** Words alone give a hit its score. */
function isMerged(hit: unknown): boolean {
  const scores = entriesOf(memberOf(hit, '_index_scores'))
  return scores.length > 1 || scores.some(([name]) => name !== WORDS)
}

/** White space becomes single spaces, because line feeds would break the list. */
function markedText(fragment: string, screen: Output, { pre, post }: Marks): string {
  const words = fragment.replaceAll(/\s+/g, ' ').split(pre)
  return words
    .map((part, i) => {
      const [found = '', rest = ''] = i === 0 ? ['', part] : part.split(post)
      return strong(printable(found), screen) + printable(rest)
    })
    .join('')
}

function strong(text: string, screen: Output): string {
  if (text === '' || screen.color) return paint(screen, 'yellow', text)
  return `*${text}*`
}

function facetLines(name: string, facet: unknown, screen: Output): string[] {
  const buckets = listOf(memberOf(facet, 'buckets')).map((bucket) => ({
    key: printable(String(memberOf(bucket, 'key'))),
    count: numberOf(memberOf(bucket, 'doc_count')),
  }))
  const most = Math.max(1, ...buckets.map(({ count }) => count))
  const rows = buckets.map(({ key, count }) => {
    const bar = '█'.repeat(Math.max(1, Math.round((count / most) * BAR_COLUMNS)))
    const label = padEnd(screen.isTty ? cutText(key, KEY_COLUMNS) : key, KEY_COLUMNS)
    return `  ${label} ${paint(screen, 'green', bar.padEnd(BAR_COLUMNS))} ${formatCount(count)}`
  })
  return ['', paint(screen, 'bold', printable(name)), ...rows]
}

function noteLines(result: unknown, screen: Output): string[] {
  const warnings = listOf(memberOf(result, 'warnings')).map((warning) => printable(String(warning)))
  const error = memberOf(result, 'error')
  const broken = typeof error === 'string' ? [paint(screen, 'red', printable(error))] : []
  return [...warnings.map((text) => paint(screen, 'yellow', `warning: ${text}`)), ...broken]
}

function suggestionLines(result: unknown, screen: Output): string[] {
  const texts = listOf(memberOf(result, 'suggestions')).map((suggestion) => {
    return printable(String(memberOf(suggestion, 'corrected')))
  })
  return texts.length === 0 ? [] : [`Did you mean: ${paint(screen, 'bold', texts.join(', '))}`]
}

function summary(result: unknown, screen: Output): string {
  const total = plural(numberOf(memberOf(memberOf(result, 'hits'), 'total')), 'hit')
  const took = `${numberOf(memberOf(result, 'took'))} ms`
  const phases = entriesOf(memberOf(memberOf(result, 'profile'), 'phases')).map(
    ([phase, ms]) => `${phase} ${numberOf(ms)} ms`,
  )
  return paint(screen, 'dim', [`${total} in ${took}`, ...phases].join(' · '))
}

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : []
}

function entriesOf(value: unknown): readonly (readonly [string, unknown])[] {
  return typeof value === 'object' && value !== null ? Object.entries(value) : []
}

function numberOf(value: unknown): number {
  return typeof value === 'number' ? value : 0
}
