// The command line as a tree of commands. A command never ends the process: it resolves, or it
// throws what run-cli.ts explains.

import { Command } from 'commander'
import type { Help } from 'commander'
import { readProduct } from '../lib/process/product.ts'
import { addDemoCommand } from './commands/demo.ts'
import { addDeleteCommand, addLookupCommand } from './commands/documents.ts'
import { addInferenceCommand } from './commands/inference.ts'
import { addLoadCommand } from './commands/load.ts'
import { addModelsCommand } from './commands/models.ts'
import { addQueryCommand } from './commands/query.ts'
import { addScanCommand } from './commands/scan.ts'
import { addStatusCommand } from './commands/status.ts'
import { addSwarmCommand } from './commands/swarm.ts'
import { addTableCommand } from './commands/table.ts'
import type { CliContext } from './context.ts'
import { paint, writeLine } from './terminal.ts'
import type { Output } from './terminal.ts'

const HELP_COLUMNS_MAX = 100

const GETTING_STARTED = `
Getting started:
  # see it work, with data that is already here
  quarry demo

  # a service of your own
  quarry swarm --data-dir ./data
  quarry table create books
  echo '{"id":"book/1","title":"Sea charts"}' | quarry load books -
  quarry lookup books book/1

Exit codes: 0 done, 1 refused or some documents failed, 2 wrong usage,
            3 service not reachable, 78 wrong configuration
`

export function buildProgram(context: CliContext): Command {
  const program = new Command('quarry')
    .description('Quarry, a document store: run it, load it, ask it.')
    .version(versionLine(), '-V, --version', 'print the version')
    .helpCommand('help [command]', 'explain a command')
    .addHelpText('after', GETTING_STARTED)
  configureTexts(program, context)
  addSwarmCommand(program, context)
  addInferenceCommand(program, context)
  addDemoCommand(program, context)
  addTableCommand(program, context)
  addLoadCommand(program, context)
  addLookupCommand(program, context)
  addQueryCommand(program, context)
  addScanCommand(program, context)
  addDeleteCommand(program, context)
  addStatusCommand(program, context)
  addModelsCommand(program, context)
  addVersionCommand(program, context)
  return program
}

function addVersionCommand(program: Command, { terminal }: CliContext): void {
  program
    .command('version')
    .description('Print the version.')
    .action(() => writeLine(terminal.out, versionLine()))
}

function versionLine(): string {
  return `quarry ${readProduct().version}`
}

/** Before the commands are added: each takes these settings over from its parent. */
function configureTexts(command: Command, { terminal: { out, err } }: CliContext): void {
  command
    .exitOverride()
    .configureHelp(helpStyles(out))
    .helpOption('-h, --help', 'explain this command')
    .configureOutput({
      writeOut: (text) => out.stream.write(text),
      writeErr: (text) => err.stream.write(text),
      outputError: () => {}, // said by run-cli.ts, as text or as JSON
      getOutHelpWidth: () => Math.min(out.columns, HELP_COLUMNS_MAX),
      getErrHelpWidth: () => Math.min(err.columns, HELP_COLUMNS_MAX),
      getOutHasColors: () => out.color,
      getErrHasColors: () => err.color,
    })
}

function helpStyles(screen: Output): Partial<Help> {
  return {
    styleTitle: (text) => paint(screen, 'bold', text),
    styleOptionText: (text) => paint(screen, 'cyan', text),
    styleSubcommandText: (text) => paint(screen, 'cyan', text),
    styleArgumentText: (text) => paint(screen, 'yellow', text),
  }
}
