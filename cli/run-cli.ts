// Runs one command line. It turns every failure into an exit code and a message for the user.

import { CommanderError } from 'commander'
import { EXIT } from '../lib/process/exit-codes.ts'
import { isServiceError } from '../lib/errors.ts'
import type { ServiceError } from '../lib/errors.ts'
import type { CliContext } from './process/context.ts'
import { CliError } from './process/exit.ts'
import { buildProgram } from './program.ts'
import { printable } from '../lib/process/log-words.ts'
import { isSystemError } from './process/system-error.ts'
import { paint, writeLine } from './process/terminal.ts'

interface Explanation {
  readonly exitCode: number
  readonly code: string
  readonly message: string
}

/** Runs the arguments after the program's name, and resolves to the exit code. */
export async function runCli(args: readonly string[], context: CliContext): Promise<number> {
  try {
    const program = await buildProgram(args, context)
    await program.parseAsync([...args], { from: 'user' })
    return EXIT.ok
  } catch (error) {
    const explanation = explain(error)
    if (explanation.message !== '') await say(explanation, args.includes('--json'), context)
    return explanation.exitCode
  }
}

/** Rethrows any other error: it is a bug, whose stack trace should be visible. */
function explain(error: unknown): Explanation {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) return explainUsage(error)
  if (isServiceError(error)) return describe(error)
  if (isSystemError(error)) {
    return { exitCode: EXIT.refused, code: error.code ?? 'SYSTEM', message: error.message }
  }
  throw error
}

/** A refusal of this process itself. Its invalid argument came from the command line. */
function describe({ code, message }: ServiceError): Explanation {
  return { exitCode: code === 'INVALID_ARGUMENT' ? EXIT.usage : EXIT.refused, code, message }
}

function explainUsage(error: CommanderError): Explanation {
  if (error.exitCode === 0) return { exitCode: EXIT.ok, code: 'OK', message: '' }
  const isHelp = error.code === 'commander.help' // shown instead of a missing command
  const sentence = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  const message = isHelp ? '' : `${sentence} (see --help)`
  return { exitCode: EXIT.usage, code: 'USAGE', message }
}

async function say(
  { code, message }: Explanation,
  asJson: boolean,
  { terminal: { err } }: CliContext,
): Promise<void> {
  if (asJson) return writeLine(err, JSON.stringify({ error: message, code }))
  const [first = '', ...others] = message.split('\n').map(printable)
  await writeLine(err, `${paint(err, 'red', 'error:')} ${first}`)
  for (const line of others) await writeLine(err, `       ${line}`)
}
