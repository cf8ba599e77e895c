import { syntaxError, type Place } from './template-error.ts'

/** A stretch of one line. */
export interface Stretch extends Place {
  readonly length: number
}

/**
 * The text of a template as Handlebars' parser takes it, with errors by the places in the text that was
 * written. Handlebars refuses `tags.0` at the end of a word, and takes `tags.[0]`: both mean the same here.
 */
export class TemplateText {
  readonly text: string
  readonly #positions: readonly Stretch[]

  /** `positions` are the numbers in paths that lack their brackets, in their order. */
  constructor(source: string, positions: readonly Stretch[]) {
    this.#positions = positions
    this.text = positions.length === 0 ? source : withBrackets(source, positions)
  }

  /** INVALID_ARGUMENT for a place in `text`. */
  refuse({ line, column }: Place, why: string): Error {
    let written = column
    for (const position of this.#positions) {
      if (position.line === line && position.column < written) {
        written -= written > position.column + position.length ? 2 : 1
      }
    }
    return syntaxError({ line, column: written }, why)
  }
}

function withBrackets(source: string, positions: readonly Stretch[]): string {
  // Ends of lines stand between the lines.
  const parts = source.split(/(\r\n?|\n)/)
  for (const { line, column, length } of positions.toReversed()) {
    const at = 2 * (line - 1)
    const text = parts[at] ?? ''
    const number = text.slice(column, column + length)
    parts[at] = `${text.slice(0, column)}[${number}]${text.slice(column + length)}`
  }
  return parts.join('')
}
