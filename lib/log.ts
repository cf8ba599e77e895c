/**
 * Structured log lines: a constant message and variable fields. The message never contains a value,
 * so equal events can be counted. pino implements it in `lib/process`; tests use `silentLog`.
 */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const
export type LogLevel = (typeof LOG_LEVELS)[number]

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
