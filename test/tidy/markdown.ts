// Parts of Markdown pages that are written by programs.

import { format } from 'prettier'

/** Writes what is between `<!-- table: NAME -->` and `<!-- /table -->` again, for each name. */
export function withTables(
  document: string,
  tables: Readonly<Record<string, () => string>>,
): string {
  return Object.entries(tables).reduce((text, [name, build]) => {
    const [begin, end] = [`<!-- table: ${name} -->`, '<!-- /table -->']
    const from = text.indexOf(begin)
    const to = text.indexOf(end, from)
    if (from === -1 || to === -1) throw new Error(`a document has no ${begin} … ${end}`)
    return `${text.slice(0, from + begin.length)}\n\n${build()}\n\n${text.slice(to)}`
  }, document)
}

/** As prettier lays it out: every column as wide as its widest cell. */
export function markdownTable(
  titles: readonly string[],
  rows: readonly (readonly string[])[],
): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll(/[|*]/g, String.raw`\$&`)))
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...escaped.map((row) => row[at]?.length ?? 0)),
  )
  const lines = [titles, widths.map((width) => '-'.repeat(width)), ...escaped].map((row) =>
    row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | '),
  )
  return lines.map((line) => `| ${line} |`).join('\n')
}

/** A page as the linter wants it. */
export function formatPage(markdown: string): Promise<string> {
  return format(markdown, { parser: 'markdown', printWidth: 100 })
}

/** The first sentence of a page, behind its title, without marks and links. */
export function firstSentence(markdown: string): string {
  const paragraphs = markdown
    .replaceAll(/^(?:#.*|\|.*|```[\s\S]*?^```|<!--.*)$/gm, '')
    .split(/\n{2,}/)
  const first = paragraphs.find(
    (text) => text.trim() !== '' && !text.trim().startsWith('**Status.**'),
  )
  const text = (first ?? '')
    .replace(/^\s*[-*] /, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replace(/^\s*\*\*(?:Question|Decision|Decided|Problem|Context)\.\*\*/, '')
    .replaceAll(/\*\*/g, '')
    .replaceAll(/\s+/g, ' ')
    .trim()
  return /^.*?[.?!](?= [A-Z`"]|$)/.exec(text)?.[0] ?? text
}

export function titleOf(markdown: string): string {
  return /^# (?<title>.+)$/m.exec(markdown)?.groups?.['title'] ?? ''
}
