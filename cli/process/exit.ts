import { EXIT } from '../../lib/process/exit-codes.ts'
import type { ExitCode } from '../../lib/process/exit-codes.ts'

/** A failure that is explained to the person in one sentence, with the remedy. */
export class CliError extends Error {
  override readonly name: string = 'CliError'
  readonly exitCode: ExitCode
  /** Stable, for scripts that read the JSON form. */
  readonly code: string

  constructor(exitCode: ExitCode, code: string, message: string, options?: ErrorOptions) {
    super(message, options)
    this.exitCode = exitCode
    this.code = code
  }
}

export function usageError(message: string): CliError {
  return new CliError(EXIT.usage, 'USAGE', message)
}
