// The tree of commands. A command never ends the process: it resolves, or it throws an error that
// run-cli.ts explains.
//
// A command's module is loaded when the command is called, because loading all of them takes long.

import { Command } from 'commander'
import type { Help } from 'commander'
import { EXIT_CODES } from '../lib/process/exit-codes.ts'
import { readProduct } from '../lib/process/product.ts'
import { ownCommand } from '../lib/own-command.ts'
import type { CliContext } from './process/context.ts'
import { paint, writeLine } from './process/terminal.ts'
import type { Output } from './process/terminal.ts'

const HELP_COLUMNS_MAX = 100

type AddCommand = (program: Command, context: CliContext) => void

/** The commands in the order of the help. */
const COMMANDS: Readonly<Record<string, () => Promise<AddCommand>>> = {
  swarm: async () => (await import('./commands/swarm.ts')).addSwarmCommand,
  node: async () => (await import('./commands/node.ts')).addNodeCommand,
  inference: async () => (await import('./commands/inference.ts')).addInferenceCommand,
  demo: async () => (await import('./commands/demo.ts')).addDemoCommand,
  table: async () => (await import('./commands/table.ts')).addTableCommand,
  index: async () => (await import('./commands/indexes.ts')).addIndexCommand,
  load: async () => (await import('./commands/load.ts')).addLoadCommand,
  lookup: async () => (await import('./commands/documents.ts')).addLookupCommand,
  query: async () => (await import('./commands/query.ts')).addQueryCommand,
  scan: async () => (await import('./commands/scan.ts')).addScanCommand,
  delete: async () => (await import('./commands/documents.ts')).addDeleteCommand,
  status: async () => (await import('./commands/status.ts')).addStatusCommand,
  cluster: async () => (await import('./commands/cluster.ts')).addClusterCommand,
  models: async () => (await import('./commands/models.ts')).addModelsCommand,
  k8s: async () => (await import('./commands/k8s.ts')).addK8sCommand,
  operator: async () => (await import('./commands/operator.ts')).addOperatorCommand,
  version: async () => addVersionCommand,
}

const gettingStarted = (): string => `
Getting started:
  # see it work, with data that is already here
  ${ownCommand('demo')}

  # a service of your own
  ${ownCommand('swarm --data-dir ./data')}
  ${ownCommand('table create books')}
  echo '{"id":"book/1","title":"Sea charts"}' | ${ownCommand('load books -')}
  ${ownCommand('lookup books book/1')}

Exit codes:
${Object.values(EXIT_CODES)
  .map(({ code, meaning }) => `  ${String(code).padEnd(4)} ${meaning}`)
  .join('\n')}
`

/** A program with the command that `args` name, or with all commands if they name none. */
export async function buildProgram(args: readonly string[], context: CliContext): Promise<Command> {
  const program = new Command('quarry')
    .description('Quarry, a document store: run it, load it, query it.')
    .version(versionText(args.includes('--json')), [...VERSION_FLAGS].join(', '), VERSION_HELP)
    .helpCommand('help [command]', 'explain a command')
    .addHelpText('after', gettingStarted())
  configureTexts(program, context)
  for (const name of calledCommands(args)) {
    const add = await COMMANDS[name]?.()
    add?.(program, context)
  }
  return program
}

const VERSION_HELP = 'print the version; before --json, also which sources it was made of'
const VERSION_FLAGS: ReadonlySet<string> = new Set(['-V', '--version'])

function calledCommands(args: readonly string[]): string[] {
  const [first = '', second = ''] = args
  if (VERSION_FLAGS.has(first)) return []
  const called = first === 'help' ? second : first
  return Object.hasOwn(COMMANDS, called) ? [called] : Object.keys(COMMANDS)
}

function addVersionCommand(program: Command, { terminal }: CliContext): void {
  program
    .command('version')
    .description('Print the version.')
    .option('--json', 'print JSON, also which sources it was made of and what runs it')
    .action(({ json = false }: { readonly json?: boolean }) =>
      writeLine(terminal.out, versionText(json)),
    )
}

function versionText(json: boolean): string {
  const { version, gitCommit } = readProduct()
  if (!json) return `quarry ${version}`
  return JSON.stringify({ version, git_commit: gitCommit, runtime_version: process.version })
}

/** Called before the commands are added, because each command copies these settings. */
function configureTexts(command: Command, { terminal: { out, err } }: CliContext): void {
  command
    .exitOverride()
    .configureHelp(helpStyles(out))
    .helpOption('-h, --help', 'explain this command')
    .configureOutput({
      writeOut: (text) => out.stream.write(text),
      writeErr: (text) => err.stream.write(text),
      outputError: () => {}, // run-cli.ts prints errors, as text or as JSON
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
