// A store in this process over the disk that a power failure left.

import { mkdtemp, rm } from 'node:fs/promises'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import { systemClock } from '../../../lib/clock.ts'
import type { parseNodeConfig } from '../../../node/config.ts'
import type { startNode } from '../../../node/main.ts'
import { StoreClient } from '../servers/store-client.ts'

const INTENTS_DEADLINE_MS = 60_000
const STATUS_PERIOD_MS = 10

interface Program {
  readonly parseNodeConfig: typeof parseNodeConfig
  readonly startNode: typeof startNode
}

/** The sources below `root`: another version's, when a test is to show that it finds its defects. */
export async function loadProgram(root: string): Promise<Program> {
  const at = (file: string): string => pathToFileURL(path.join(root, file)).href
  const config: Pick<Program, 'parseNodeConfig'> = await import(at('node/config.ts'))
  const main: Pick<Program, 'startNode'> = await import(at('node/main.ts'))
  return { parseNodeConfig: config.parseNodeConfig, startNode: main.startNode }
}

export interface ImageOptions {
  readonly program: Program
  /** Where images are made; in memory it costs less. */
  readonly scratch: string
  /** Makes the directory what is to be opened, and returns where the data directory is. */
  readonly save: (target: string) => string
}

/** Opens the image, waits until every shard is healthy and nothing is half, and calls `check`. */
export async function withImage(
  { program, scratch, save }: ImageOptions,
  check: (client: StoreClient) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(path.join(scratch, 'image-'))
  try {
    const { parseNodeConfig: parse, startNode: start } = program
    const dataDir = save(folder)
    await using node = await start(
      parse({}, { dataDir, apiPort: '0', healthPort: '0', logLevel: 'error' }),
    )
    using client = new StoreClient(node.apiUrl)
    await expectHealthy(client)
    await check(client)
  } finally {
    await rm(folder, { recursive: true })
  }
}

async function expectHealthy(client: StoreClient): Promise<void> {
  const deadlineMs = systemClock.monotonicMs() + INTENTS_DEADLINE_MS
  for (;;) {
    const { text } = await client.succeed('GET', '/api/v1/status')
    const status: Status = JSON.parse(text)
    expect(status.health, text).to.equal('healthy')
    if (Object.values(status.shards).every(({ pending_intents: count }) => count === 0)) return
    expect(systemClock.monotonicMs(), `intents remain: ${text}`).to.be.below(deadlineMs)
    await systemClock.sleep(STATUS_PERIOD_MS)
  }
}

interface Status {
  readonly health: string
  readonly shards: Readonly<Record<string, { readonly pending_intents: number }>>
}
