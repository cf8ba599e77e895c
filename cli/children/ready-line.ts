import { memberOf, parseAnswer } from '../service/service-answers.ts'

/** Where a server answers that was just started. */
export interface ReadyPlaces {
  readonly api: string
  readonly health: string
}

/** Reads a line like `{"event":"ready","api":…,"health":…}`; undefined for any other. */
export function readyPlaces(line: string): ReadyPlaces | undefined {
  if (!line.startsWith('{"event":"ready"')) return undefined
  const value = parseAnswer(line)
  return { api: String(memberOf(value, 'api')), health: String(memberOf(value, 'health')) }
}
