// docs/reference/cli.md: each command of the program, as its own help explains it.

import { Writable } from 'node:stream'
import type { Command } from 'commander'
import { parseCliSettings } from '../../cli/config.ts'
import type { CliContext } from '../../cli/process/context.ts'
import type { Output } from '../../cli/process/terminal.ts'
import { buildProgram } from '../../cli/program.ts'
import { systemClock } from '../../lib/clock.ts'
import { slugOf } from './links.ts'
import { markdownTable } from './markdown.ts'

/** The column at which help wraps its lines. */
const COLUMNS = 100

/** The page between its marks: a list of all commands, and a section for each. */
export async function commandTables(): Promise<Readonly<Record<string, () => string>>> {
  const printed: string[] = []
  const program = await buildProgram([], contextWritingTo(printed))
  const commands = leavesOf(program)
  const helpOf = (command: Command): string => {
    printed.length = 0
    command.outputHelp()
    return printed.join('').trim()
  }
  return {
    list: () =>
      markdownTable(
        ['Command', 'What it does'],
        commands.map((command) => [
          `[\`${nameOf(command)}\`](#${slugOf(nameOf(command))})`,
          subjectOf(command),
        ]),
      ),
    commands: () =>
      commands
        .map((command) => `### ${nameOf(command)}\n\n\`\`\`text\n${helpOf(command)}\n\`\`\``)
        .join('\n\n'),
  }
}

/** The commands that do something, in the order of the help. */
function leavesOf(command: Command): readonly Command[] {
  const inside = command.commands.filter((one) => one.name() !== 'help')
  return inside.length === 0 ? [command] : inside.flatMap(leavesOf)
}

/** On one line, without the form of a sentence, as the help lists commands. */
function subjectOf(command: Command): string {
  if (command.summary() !== '') return command.summary()
  return command
    .description()
    .replace(/^./, (letter) => letter.toLowerCase())
    .replace(/\.$/, '')
}

function nameOf(command: Command): string {
  return command.parent === null ? command.name() : `${nameOf(command.parent)} ${command.name()}`
}

function contextWritingTo(printed: string[]): CliContext {
  const stream = new Writable({
    write: (chunk, _, done) => {
      printed.push(String(chunk))
      done()
    },
  })
  const output: Output = { stream, isTty: false, color: false, columns: COLUMNS }
  return {
    terminal: { stdin: process.stdin, stdinIsTty: false, out: output, err: output },
    settings: parseCliSettings({}),
    env: {},
    clock: systemClock,
    random: Math.random,
    stopSignal: () => new AbortController().signal,
    onHangup: () => () => undefined,
  }
}
