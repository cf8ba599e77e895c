import { Presets, SingleBar } from 'cli-progress'
import { paint } from '../terminal.ts'
import type { Output } from '../terminal.ts'

const BAR_COLUMNS_MAX = 40
const BAR_COLUMNS_MIN = 8

/** A line at the bottom of the terminal that `line` writes anew several times a second. */
export function startProgressLine(output: Output, total: number, line: () => string): SingleBar {
  const bar = new SingleBar(
    {
      stream: output.stream,
      fps: 8,
      clearOnComplete: true,
      // The terminal is left as it is, so a signal may end the process at any moment without
      // anything to restore; the library's own handlers would swallow the first Ctrl-C.
      hideCursor: false,
      linewrap: true,
      gracefulExit: false,
      format: line,
    },
    Presets.shades_classic,
  )
  bar.start(total, 0)
  return bar
}

/** The bar itself, with a percentage; empty where the text beside it leaves no room. */
export function drawBar(output: Output, share: number, textColumns: number): string {
  const columns = Math.min(BAR_COLUMNS_MAX, output.columns - textColumns)
  if (columns < BAR_COLUMNS_MIN) return ''
  const shown = Math.min(1, share)
  const filled = Math.round(shown * columns)
  const percent = `${Math.floor(shown * 100)}%`.padStart(4)
  const rest = paint(output, 'dim', '─'.repeat(columns - filled))
  return `${paint(output, 'green', '━'.repeat(filled))}${rest} ${percent}  `
}
