/**
 * The exit codes of all programs. The help and docs/reference/errors.md are generated from this table. 70 and 78
 * are EX_SOFTWARE and EX_CONFIG of sysexits.h; 130 is what shells report for SIGINT.
 */
export const EXIT_CODES = {
  ok: { code: 0, meaning: 'done' },
  refused: { code: 1, meaning: 'the service refused, or some documents were not loaded' },
  usage: { code: 2, meaning: 'wrong usage: a command, an option or a name' },
  unreachable: { code: 3, meaning: 'the service or the hub cannot be reached' },
  internal: { code: 70, meaning: 'a server ended itself: a defect, or a disk that failed' },
  configuration: {
    code: 78,
    meaning: 'a server cannot start: a setting, a taken port or directory; or no npm ci',
  },
  interrupted: { code: 130, meaning: 'ended by a second Ctrl-C' },
} as const

export type ExitCode = (typeof EXIT_CODES)[keyof typeof EXIT_CODES]['code']

export const EXIT = {
  ok: EXIT_CODES.ok.code,
  refused: EXIT_CODES.refused.code,
  usage: EXIT_CODES.usage.code,
  unreachable: EXIT_CODES.unreachable.code,
  internal: EXIT_CODES.internal.code,
  configuration: EXIT_CODES.configuration.code,
  interrupted: EXIT_CODES.interrupted.code,
} as const
