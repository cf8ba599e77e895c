// Adds the options of a server to its command and to the help. Both come from the server's table.

import type { Command } from 'commander'
import { readFile } from 'node:fs/promises'
import { defaultOf, fileKey, flagName } from '../../lib/options.ts'
import type { Option, OptionTable } from '../../lib/options.ts'
import type { ConfigFile } from '../../lib/process/config-file.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { wrap } from '../render/text-width.ts'

const HELP_COLUMNS = 76

/** Adds the flags of the table, and `--config`. The server's own parser checks their values. */
export function addServerOptions(command: Command, table: OptionTable): Command {
  for (const [name, option] of Object.entries(table)) {
    if (option.flag === undefined) continue
    command.option(`${flagName(name)} ${option.flag}`.trimEnd(), flagHelp(option))
  }
  return command.option('--config <file>', 'YAML or JSON; flags and environment override it')
}

function flagHelp(option: Option): string {
  return option.flag === '' ? option.help : `${option.help} (default: ${defaultOf(option)})`
}

/** The end of a server's help: its settings without flags, and the other ways to set options. */
export function settingsHelp(table: OptionTable): string {
  const others = Object.entries(table).filter(([, option]) => option.flag === undefined)
  const [name = '', option] = Object.entries(table)[0] ?? []
  const example = `${flagName(name)} is ${option?.variable} there, and ${fileKey(name)} in the file.`
  return `
Every option can also be set in the environment or in the file of --config:
${example}
Settings without an option:

${others.map(([other, each]) => settingHelp(other, each)).join('\n')}
`
}

function settingHelp(name: string, option: Option): string {
  const help = `${option.help} (default: ${defaultOf(option)})`
  return `  ${option.variable}, ${fileKey(name)}\n${indented(help, 6)}`
}

function indented(text: string, columns: number): string {
  const lines = wrap(text, HELP_COLUMNS - columns)
  return lines.map((line) => ' '.repeat(columns) + line).join('\n')
}

/** Reads the file of `--config`; undefined: the option was not given. */
export async function readConfigFile(path: string | undefined): Promise<ConfigFile | undefined> {
  if (path === undefined) return undefined
  try {
    return { path, text: await readFile(path, 'utf8') }
  } catch (cause) {
    const message = `--config ${path}: the file cannot be read; check the path`
    throw new CliError(EXIT.configuration, 'CONFIGURATION', message, { cause })
  }
}
