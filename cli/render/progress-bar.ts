import { paint } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { cutText, textWidth } from './text-width.ts'

const BAR_COLUMNS_MAX = 40
const BAR_COLUMNS_MIN = 8
/** The width changes in steps, so that the bar does not jump when a figure grows by a digit. */
const BAR_COLUMNS_STEP = 4
const GAP = '  '
const SEPARATOR = ' · '
/** The columns of ` 100%` after the bar. */
const PERCENT_COLUMNS = 5
/** A shorter part of a note would be useless. */
const TAIL_COLUMNS_MIN = 8

/** The parts of a line of progress. */
export interface ProgressTexts {
  /** The done part, from 0 to 1; undefined: not known, and the line has no bar. */
  readonly share: number | undefined
  /** Figures, the most important first. The last ones are dropped when the line is too narrow. */
  readonly figures: readonly string[]
  /** A failure to show in red. */
  readonly alarm?: string | undefined
  /** Text at the end of the line, which is cut first. */
  readonly note?: string | undefined
}

/**
 * One line of progress, at least one column narrower than the terminal, because many terminals wrap a
 * full line. When there is too little room, it drops the bar first, then the note, then the last
 * figures.
 */
export function fitProgress(
  output: Output,
  { share, figures, alarm, note }: ProgressTexts,
): string {
  const columns = Math.max(1, output.columns - 1)
  const tail = [alarm, note].filter((text) => text !== undefined).join(GAP)
  const shown = [...figures]
  while (shown.length > 1 && textWidth(shown.join(SEPARATOR)) > columns) shown.pop()
  const text = cutText(shown.join(SEPARATOR), columns)
  const tailColumns = columns - textWidth(text) - GAP.length
  const end = tail === '' || tailColumns < TAIL_COLUMNS_MIN ? '' : GAP + cutText(tail, tailColumns)
  const bar = drawBar(output, share, columns - textWidth(text + end))
  return bar + paintFigures(output, text) + paintTail(output, end, alarm)
}

/** The bar and its percentage, in at most `columns`; empty if they do not fit. */
function drawBar(output: Output, share: number | undefined, columns: number): string {
  const room = Math.min(BAR_COLUMNS_MAX, columns - PERCENT_COLUMNS - GAP.length)
  const inner = room - (room % BAR_COLUMNS_STEP)
  if (share === undefined || inner < BAR_COLUMNS_MIN) return ''
  const shown = Math.min(1, share)
  const filled = Math.round(shown * inner)
  const percent = `${Math.floor(shown * 100)}%`.padStart(PERCENT_COLUMNS)
  const rest = paint(output, 'dim', '─'.repeat(inner - filled))
  return `${paint(output, 'green', '━'.repeat(filled))}${rest}${percent}${GAP}`
}

function paintFigures(output: Output, text: string): string {
  return text.replaceAll(SEPARATOR, paint(output, 'dim', SEPARATOR))
}

function paintTail(output: Output, tail: string, alarm: string | undefined): string {
  return paint(output, alarm === undefined ? 'yellow' : 'red', tail)
}
