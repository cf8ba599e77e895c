// Runs one command line and turns whatever happens into an exit code and one friendly sentence.

import { CommanderError } from 'commander'
import { EXIT } from '../lib/process/exit-codes.ts'
import { isServiceError } from '../lib/errors.ts'
import type { ServiceError } from '../lib/errors.ts'
import type { CliContext } from './process/context.ts'
import { CliError } from './process/exit.ts'
import { buildProgram } from './program.ts'
import { printable } from './render/text-width.ts'
import { isSystemError } from './process/system-error.ts'
import { paint, writeLine } from './process/terminal.ts'

interface Explanation {
  readonly exitCode: number
  readonly code: string
  readonly message: string
}

/** `args` are what stands behind the program's name. The result is the exit code. */
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

/** Throws again what is neither a refusal nor the system's: a mistake of ours deserves its stack trace. */
function explain(error: unknown): Explanation {
  if (error instanceof CliError) return error
  if (error instanceof CommanderError) return explainUsage(error)
  if (isServiceError(error)) return describe(error)
  if (isSystemError(error)) {
    return { exitCode: EXIT.refused, code: error.code ?? 'SYSTEM', message: error.message }
  }
  throw error
}

/** A refusal of this process itself: what it calls an argument was one of the command line. */
function describe({ code, message }: ServiceError): Explanation {
  return { exitCode: code === 'INVALID_ARGUMENT' ? EXIT.usage : EXIT.refused, code, message }
}

function explainUsage(error: CommanderError): Explanation {
  if (error.exitCode === 0) return { exitCode: EXIT.ok, code: 'OK', message: '' }
  const isHelp = error.code === 'commander.help' // shown instead of a missing command
  const sentence = error.message.replace(/^error: /, '').replaceAll('\n', ' ')
  const message = isHelp ? '' : `${sentence} (add --help to see how it goes)`
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
