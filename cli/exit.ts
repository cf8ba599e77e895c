/** What the exit code tells a script. 78 is EX_CONFIG of sysexits.h. */
export const EXIT = { ok: 0, refused: 1, usage: 2, unreachable: 3, configuration: 78 } as const
export type ExitCode = (typeof EXIT)[keyof typeof EXIT]

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
