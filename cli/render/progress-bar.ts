import { paint } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { cutText, textWidth } from './text-width.ts'

const BAR_COLUMNS_MAX = 40
const BAR_COLUMNS_MIN = 8
/** The bar keeps its width while the figures beside it grow by a digit. */
const BAR_COLUMNS_STEP = 4
const GAP = '  '
const SEPARATOR = ' · '
/** ` 100%` behind the bar. */
const PERCENT_COLUMNS = 5
/** Less of a note says nothing. */
const TAIL_COLUMNS_MIN = 8

export interface ProgressTexts {
  /** How much is done, from 0 to 1; undefined: nobody knows, and there is no bar. */
  readonly share: number | undefined
  /** The most important first: the last ones go where there is no room. */
  readonly figures: readonly string[]
  readonly alarm?: string | undefined
  /** What stands last and is cut first. */
  readonly note?: string | undefined
}

/**
 * One line of progress that is narrower than the terminal: a line as wide as it breaks on many. The
 * bar gives way first, then the note, then the last figures.
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

/** The bar and its percentage, in at most `columns`; empty where there is no room. */
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
