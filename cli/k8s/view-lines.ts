// Lines of a report on the screen.

import { edgeOf, paint } from '../process/terminal.ts'
import type { Output, Style } from '../process/terminal.ts'
import { cutText, wrap } from '../render/text-width.ts'

/** Where and when a report is shown. */
export interface ReportView {
  readonly screen: Pick<Output, 'columns' | 'isTty' | 'color'>
  readonly nowMs: number
  /** Whether every node has its line, however many there are. */
  readonly isWhole: boolean
}

/** Lines of one part of the screen; none if there is nothing to tell. */
export type Lines = readonly string[]

/** Lines that end before the edge of the screen, each behind the indent. */
export function wrapped(text: string, { screen }: ReportView, indent: string): Lines {
  return wrap(text, edgeOf(screen) - indent.length).map((line) => indent + line)
}

/** One line, cut at the edge of the screen, in which one word has a style. */
export function cutLine(
  line: string,
  { screen }: ReportView,
  painted?: { readonly word: string; readonly style: Style },
): string {
  const cut = cutText(line, edgeOf(screen))
  if (painted === undefined || painted.word === '') return cut
  return cut.replace(painted.word, (word) => paint(screen, painted.style, word))
}

export function dim({ screen }: ReportView, text: string): string {
  return paint(screen, 'dim', text)
}

export function title({ screen }: ReportView, text: string): string {
  return paint(screen, 'bold', text)
}
