import path from 'node:path'

/** The program, for children of it. */
export const BIN = path.resolve(import.meta.dirname, '../../bin/quarry')
const ANY_PORT = '0'

/** What is given to the server; the rest comes from its environment. */
export interface OwnInferenceSettings {
  /** Absent: a free one. */
  readonly port?: string | undefined
  readonly modelsDir?: string | undefined
  readonly logLevel?: string | undefined
}

/** This very program as an inference server of this machine alone. */
export function ownInferenceArgs({
  port = ANY_PORT,
  modelsDir,
  logLevel,
}: OwnInferenceSettings): readonly string[] {
  return [
    BIN,
    'inference',
    '--port',
    port,
    '--health-port',
    ANY_PORT,
    '--host',
    '127.0.0.1',
    ...(modelsDir === undefined ? [] : ['--models-dir', modelsDir]),
    ...(logLevel === undefined ? [] : ['--log-level', logLevel]),
  ]
}
