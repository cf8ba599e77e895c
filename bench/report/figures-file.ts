// Replaces the figures in a Markdown file. They are between two marks; the text around them stays.

/** What was run: a suite, perhaps some of its rows alone, perhaps with fewer or more documents. */
export interface FiguresName {
  readonly suite: string
  readonly rows?: readonly string[] | undefined
  readonly documents?: number | undefined
  readonly quick?: boolean
}

/** A run of some rows, or a quick one, never takes the place of the whole suite's figures. Throws an Error if its marks are not there. */
export function replaceFigures(text: string, name: FiguresName, figures: string): string {
  const begin = markOf('begin', name)
  const from = text.indexOf(begin)
  const to = text.indexOf(markOf('end', name))
  if (from === -1 || to < from) throw new Error(`the file lacks the line ${begin} or its end`)
  return `${text.slice(0, from + begin.length)}\n\n${figures.trim()}\n\n${text.slice(to)}`
}

function markOf(
  end: 'begin' | 'end',
  { suite, rows, documents, quick = false }: FiguresName,
): string {
  const parts = [suite, rows?.join(','), documents, quick ? 'quick' : undefined]
  const words = parts.filter((part) => part !== undefined)
  return `<!-- figures ${words.join(' ')}: ${end} -->`
}
