// Our server as users run it: bin/quarry swarm in its own process.

import { writeFile } from 'node:fs/promises'
import path from 'node:path'
import { ReadyProcess } from '../child-process.ts'
import type { Bench } from '../suite.ts'

const CHECKOUT = path.resolve(import.meta.dirname, '../..')
export const SETTLE_TIMEOUT_MS = 20_000

/** A running server. */
export interface QuarryServer extends AsyncDisposable {
  readonly origin: string
  /** The address of health and metrics. */
  readonly healthOrigin: string
  readonly process: ReadyProcess
}

/** Settings by their names in a configuration file. */
export type ServerSettings = Readonly<Record<string, number | string>>

/** An index may name the benchmark's inference server, which answers on this machine. */
export const MODELS_HERE: ServerSettings = { providerHosts: '127.0.0.1' }

interface CheckoutServer {
  readonly checkout: string
  readonly name: string
  readonly settings?: ServerSettings
}

/** Starts a server. `name` chooses the data directory: the same name serves the same data again. */
export function startQuarry(
  bench: Bench,
  name: string,
  settings: ServerSettings = {},
): Promise<QuarryServer> {
  return startCheckout(bench, { checkout: CHECKOUT, name, settings })
}

/** Starts the server of another checkout. */
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

/** Creates a table without any index, because the document rows measure only documents. */
export async function createTable(
  server: QuarryServer,
  table: string,
  body: object = {},
): Promise<void> {
  await createIndexedTable(server, table, body)
  await call(`${server.origin}${tablePath(table)}/indexes/${BUILT_IN_INDEX}`, 'DELETE')
}

/** Creates a table with its built-in full-text index. */
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

/** The text of the response. Throws for an error status. */
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
