import { once } from 'node:events'
import path from 'node:path'
import type { Command } from 'commander'
import { Lifecycle } from '../../lib/lifecycle.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ApiClient, tablePath } from '../service/api-client.ts'
import type { CliContext } from '../process/context.ts'
import { DEMO_SCHEMA, waitForIndex } from '../demo/demo-queries.ts'
import { prepareMeanings } from '../demo/demo-meanings.ts'
import { DEMO_SPLIT_KEYS, DEMO_TABLE, showTour } from '../demo/demo-tour.ts'
import { portOrAny } from '../demo/free-port.ts'
import { CliError } from '../process/exit.ts'
import { loadDocuments } from '../load/load-documents.ts'
import { openNpmSource } from '../load/npm-source.ts'
import { plural } from '../render/quantity.ts'
import { memberOf, parseAnswer, parseTable } from '../service/service-answers.ts'
import { paint, writeLine } from '../process/terminal.ts'
import { createIfAbsent, describeResult, LOAD_DEFAULTS } from './load.ts'
import { openStoreInference } from './swarm-inference.ts'
import { startSwarm } from './swarm.ts'

const NODE_MODULES = path.resolve(import.meta.dirname, '../../node_modules')
/** Other ports than those of `quarry swarm`: a tutorial starts one next, and the demo may stay. */
export const DEMO_PORTS = { api: 8090, health: 4220 } as const
const LOG_LEVEL = 'warn'
/** A directory of its own, because the default directory of `quarry swarm` holds the user's data. */
const DEMO_DATA_DIR = 'demo-data'
/** Small, so that the progress of a few documents is visible. */
const DEMO_BATCH_SIZE = 25

interface DemoOptions {
  readonly dataDir: string
  readonly exit?: boolean
}

export function addDemoCommand(program: Command, context: CliContext): void {
  program
    .command('demo')
    .summary('see it work, with data that is already here')
    .description('Start a store, load the installed npm packages, and show what a store can do.')
    .option('--data-dir <dir>', 'where the data lives', DEMO_DATA_DIR)
    .option('--exit', 'end after the tour instead of waiting for requests')
    .action((options: DemoOptions) => runDemo(options, context))
}

async function runDemo(options: DemoOptions, context: CliContext): Promise<void> {
  const screen = context.terminal.out
  const stop = context.stopSignal()
  const apiPort = await portOrAny(DEMO_PORTS.api)
  const healthPort = await portOrAny(DEMO_PORTS.health)
  await writeLine(
    screen,
    paint(screen, 'dim', `starting a store in ${path.resolve(options.dataDir)}`),
  )
  await using life = new Lifecycle()
  const { url } = await openStoreInference({ logLevel: LOG_LEVEL }, context, { life, stop })
  const { node } = await startSwarm(
    { dataDir: options.dataDir, apiPort, healthPort, host: '127.0.0.1', logLevel: LOG_LEVEL },
    context,
    { ownInference: url },
  )
  try {
    await writeLine(screen, `${paint(screen, 'bold', 'Quarry')} in swarm mode at ${node.apiUrl}`)
    const client = new ApiClient(node.apiUrl)
    await fillTable(client, context, stop)
    if (!stop.aborted) await showTour({ client, screen }, await sampleKey(client))
    if (options.exit === true || stop.aborted) return
    await showWhere(node.apiUrl, node.healthUrl, context)
    await once(stop, 'abort')
  } finally {
    await node.close()
  }
}

async function fillTable(client: ApiClient, context: CliContext, stop: AbortSignal): Promise<void> {
  const screen = context.terminal.out
  const isNew = await createIfAbsent(client, DEMO_TABLE, {
    description: 'the npm packages of this project',
    split_keys: DEMO_SPLIT_KEYS,
    schema: DEMO_SCHEMA,
  })
  if (!isNew) await updateSchema(client)
  const answer = await client.request({ method: 'GET', path: tablePath(DEMO_TABLE) })
  const shards = plural(parseTable(answer.text).shards.length, 'shard')
  await writeLine(screen)
  await writeLine(screen, `table ${paint(screen, 'bold', DEMO_TABLE)} with ${shards}`)
  const result = await loadDocuments(
    await openNpmSource(NODE_MODULES),
    {
      client,
      table: DEMO_TABLE,
      batchSize: DEMO_BATCH_SIZE,
      concurrency: LOAD_DEFAULTS.concurrency,
      isQuiet: false,
      stop,
      errorsPath: `${DEMO_TABLE}.errors.ndjson`,
    },
    context,
  )
  if (result.stopped?.isInterrupted === true) return
  if (result.stopped !== undefined) throw result.stopped.cause
  await writeLine(screen, describeResult(result, DEMO_TABLE, screen))
  await prepareMeanings(client, DEMO_TABLE, context.clock)
  await waitForIndex(client, DEMO_TABLE)
}

/** An earlier version of the demo may have created the table. */
async function updateSchema(client: ApiClient): Promise<void> {
  const body = JSON.stringify(DEMO_SCHEMA)
  await client.request({ method: 'PUT', path: `${tablePath(DEMO_TABLE)}/schema`, body })
}

/** The key of a well-known package, which this program itself uses. */
async function sampleKey(client: ApiClient): Promise<string> {
  const body = JSON.stringify({ from: 'express@', to: 'express@~', limit: 1 })
  const scan = { method: 'POST', path: `${tablePath(DEMO_TABLE)}/lookup`, body } as const
  const { text } = await client.request(scan)
  const key = text === '' ? undefined : memberOf(parseAnswer(text), 'key')
  if (typeof key === 'string') return key
  throw new CliError(
    EXIT.refused,
    'NOT_FOUND',
    'the package express is not loaded: run npm ci first',
  )
}

async function showWhere(api: string, health: string, context: CliContext): Promise<void> {
  const screen = context.terminal.out
  const places = [
    ['API', `${api}/api/v1`],
    ['docs', `${api}/api/v1/docs`],
    ['health', `${health}/readyz`],
    ['metrics', `${health}/metrics`],
    ['commands', `export QUARRY_URL=${api}`],
  ] as const
  await writeLine(screen)
  await writeLine(screen, paint(screen, 'bold', 'The store is running. Press Ctrl-C to end it.'))
  for (const [name, url] of places) {
    await writeLine(
      screen,
      `  ${paint(screen, 'dim', name.padEnd(9))}${paint(screen, 'cyan', url)}`,
    )
  }
}
