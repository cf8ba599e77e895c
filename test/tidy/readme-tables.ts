// The tables of options and exit codes in documents, made from the code that has them.

import { INFERENCE_OPTIONS } from '../../inference/config.ts'
import { defaultOf, fileKey, flagName } from '../../lib/options.ts'
import type { OptionTable } from '../../lib/options.ts'
import { EXIT_CODES } from '../../lib/process/exit-codes.ts'
import { NODE_OPTIONS } from '../../node/cluster-config.ts'
import { SWARM_OPTIONS } from '../../node/config.ts'

type Tables = Readonly<Record<string, () => string>>

/** By document, the tables that it has. */
export const DOCUMENTS: Readonly<Record<string, Tables>> = {
  'README.md': {
    'quarry swarm': () => optionsTable(SWARM_OPTIONS),
    'quarry inference': () => optionsTable(INFERENCE_OPTIONS),
    'exit codes': () => exitCodesTable(),
  },
  'docs/cluster.md': { 'quarry node': () => optionsTable(NODE_OPTIONS) },
}

/** Writes every table between `<!-- table: NAME -->` and `<!-- /table -->` again. */
export function withTables(document: string, tables: Tables): string {
  return Object.entries(tables).reduce((text, [name, build]) => {
    const [begin, end] = [`<!-- table: ${name} -->`, '<!-- /table -->']
    const from = text.indexOf(begin)
    const to = text.indexOf(end, from)
    if (from === -1 || to === -1) throw new Error(`a document has no ${begin} … ${end}`)
    return `${text.slice(0, from + begin.length)}\n\n${build()}\n\n${text.slice(to)}`
  }, document)
}

function optionsTable(table: OptionTable): string {
  const rows = Object.entries(table).map(([name, option]) => [
    option.flag === undefined ? '' : `\`${flagName(name)}\``,
    `\`${option.variable}\``,
    `\`${fileKey(name)}\``,
    option.defaultText ?? `\`${defaultOf(option)}\``,
    option.help,
  ])
  return markdownTable(['Option', 'Environment', 'File', 'Default', 'Meaning'], rows)
}

function exitCodesTable(): string {
  const rows = Object.values(EXIT_CODES).map(({ code, meaning }) => [String(code), meaning])
  return markdownTable(['Exit code', 'Meaning'], rows)
}

/** As prettier lays it out: every column as wide as its widest cell. */
function markdownTable(titles: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll(/[|*]/g, String.raw`\$&`)))
  const widths = titles.map((title, at) =>
    Math.max(title.length, ...escaped.map((row) => row[at]?.length ?? 0)),
  )
  const lines = [titles, widths.map((width) => '-'.repeat(width)), ...escaped].map((row) =>
    row.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(' | '),
  )
  return lines.map((line) => `| ${line} |`).join('\n')
}
