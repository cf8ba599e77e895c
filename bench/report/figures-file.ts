// Replaces the figures in a Markdown file. They are between two marks; the text around them stays.

/** What was run: a suite, perhaps some of its rows alone, perhaps with a number of documents of its own. */
export interface FiguresName {
  readonly suite: string
  readonly rows?: readonly string[] | undefined
  readonly documents?: number | undefined
}

/** A run of some rows never takes the place of the whole suite's figures. Throws an Error if its marks are not there. */
export function replaceFigures(text: string, name: FiguresName, figures: string): string {
  const begin = markOf('begin', name)
  const from = text.indexOf(begin)
  const to = text.indexOf(markOf('end', name))
  if (from === -1 || to < from) throw new Error(`the file lacks the line ${begin} or its end`)
  return `${text.slice(0, from + begin.length)}\n\n${figures.trim()}\n\n${text.slice(to)}`
}

function markOf(end: 'begin' | 'end', { suite, rows, documents }: FiguresName): string {
  const words = [suite, rows?.join(','), documents].filter((word) => word !== undefined)
  return `<!-- figures ${words.join(' ')}: ${end} -->`
}
