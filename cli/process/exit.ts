import { EXIT } from '../../lib/process/exit-codes.ts'
import type { ExitCode } from '../../lib/process/exit-codes.ts'

/** A failure whose message is shown to the user. It says what happened and what to do. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: ExitCode
  /** A stable code for scripts that read the JSON form. */
  readonly code: string

  constructor(exitCode: ExitCode, code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
    this.code = code
  }
}

/** An error in the arguments or options of a command. */
export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, 'USAGE', message)
}
