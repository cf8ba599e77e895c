/**
 * Structured log lines: a constant message and variable fields. The message never contains a value,
 * so that equal events can be counted. Implemented by pino in `node/main.ts`, by nothing in tests.
 */
export interface Log {
  debug(message: string, fields?: Readonly<Record<string, unknown>>): void
  info(message: string, fields?: Readonly<Record<string, unknown>>): void
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void
  error(message: string, fields?: Readonly<Record<string, unknown>>): void
}

export const silentLog: Log = { debug() {}, info() {}, warn() {}, error() {} }
