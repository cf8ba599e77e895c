// The part of a Markdown file that a run may replace: what stands between two marks, so that the
// words around the figures stay as they were written.

const markOf = (end: 'begin' | 'end', suite: string): string => `<!-- figures ${suite}: ${end} -->`

/** Throws an Error if the marks of the suite are not there. */
export function replaceFigures(text: string, suite: string, figures: string): string {
  const begin = markOf('begin', suite)
  const from = text.indexOf(begin)
  const to = text.indexOf(markOf('end', suite))
  if (from === -1 || to < from) throw new Error(`the file lacks the line ${begin} or its end`)
  return `${text.slice(0, from + begin.length)}\n\n${figures.trim()}\n\n${text.slice(to)}`
}
