// Our server, as users run it: bin/quarry swarm in a process of its own.

import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ReadyProcess } from '../child-process.ts'
import type { Bench } from '../suite.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../..')
export const SETTLE_TIMEOUT_MS = 20_000

export interface QuarryServer extends AsyncDisposable {
  readonly origin: string
  /** Where metrics are. */
  readonly healthOrigin: string
  readonly process: ReadyProcess
}

/** As a configuration file names them. */
export type ServerSettings = Readonly<Record<string, number>>

interface CheckoutServer {
  readonly checkout: string
  readonly name: string
  readonly settings?: ServerSettings
}

/** `name` names the data directory: the same name serves the same data again. */
export function startQuarry(
  bench: Bench,
  name: string,
  settings: ServerSettings = {},
): Promise<QuarryServer> {
  return startCheckout(bench, { checkout: CHECKOUT, name, settings })
}

/** The server as another checkout has it. */
export async function startCheckout(
  bench: Bench,
  { checkout, name, settings = {} }: CheckoutServer,
): Promise<QuarryServer> {
  const { profileDirectory, directory } = bench
  const configFile = path.join(directory, `${name}.json`)
  await writeFile(configFile, JSON.stringify(settings))
  const profiling =
    profileDirectory === undefined
      ? []
      : ['--cpu-prof', '--cpu-prof-dir', path.join(profileDirectory, name)]
  const [process, ready] = await ReadyProcess.start({
    name: 'quarry',
    args: [
      ...profiling,
      path.join(checkout, 'bin/quarry'),
      'swarm',
      `--config=${configFile}`,
      `--data-dir=${path.join(directory, name)}`,
      '--api-port=0',
      '--health-port=0',
      '--log-level=warn',
    ],
  })
  return {
    origin: String(ready['api']),
    healthOrigin: String(ready['health']),
    process,
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}

const BUILT_IN_INDEX = 'full_text_index_v0'

/** Without any index: the document rows are about documents. */
export async function createTable(
  server: QuarryServer,
  table: string,
  body: object = {},
): Promise<void> {
  await createIndexedTable(server, table, body)
  await call(`${server.origin}${tablePath(table)}/indexes/${BUILT_IN_INDEX}`, 'DELETE')
}

/** With the full-text index that tables have unless it is dropped. */
export async function createIndexedTable(
  { origin }: QuarryServer,
  table: string,
  body: object,
): Promise<void> {
  await call(`${origin}${tablePath(table)}`, 'POST', body)
}

export async function dropTable({ origin }: QuarryServer, table: string): Promise<void> {
  await call(`${origin}${tablePath(table)}`, 'DELETE')
}

export function tablePath(table: string): string {
  return `/api/v1/tables/${table}`
}

export function batchPath(table: string): string {
  return `${tablePath(table)}/batch`
}

export function lookupPath(table: string): string {
  return `${tablePath(table)}/lookup/`
}

/** Answers the text of the response; throws for any but a good status. */
export async function call(url: string, method: string, body?: object): Promise<string> {
  const init = { method, headers: { 'content-type': 'application/json' } }
  const response = await fetch(
    url,
    body === undefined ? init : { ...init, body: JSON.stringify(body) },
  )
  const text = await response.text()
  if (!response.ok) throw new Error(`${method} ${url}: status ${response.status}: ${text}`)
  return text
}
