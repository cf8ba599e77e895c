// The tour: what the store can do, in the order in which one would ask.

import { EXIT } from '../../lib/process/exit-codes.ts'
import { lookupPath, tablePath } from '../service/api-client.ts'
import { CliError } from '../process/exit.ts'
import { endOfPrefix } from '../service/key-prefix.ts'
import { showQueries } from './demo-queries.ts'
import { showStep } from './demo-step.ts'
import type { DemoStage } from './demo-step.ts'

export const DEMO_TABLE = 'packages'
/** Where package names lie: scopes first, then letters, about a quarter each in a usual project. */
export const DEMO_SPLIT_KEYS = ['c', 'i', 'p'] as const

const COUNTER_KEY = 'demo/counter'
const FIRST_KEY = 'a-demo/left'
const LAST_KEY = 'z-demo/right'
const SCOPE = '@types/'

/** `sample` is the key of a document that is there. */
export async function showTour(stage: DemoStage, sample: string): Promise<void> {
  await showReads(stage, sample)
  await showQueries(stage, DEMO_TABLE)
  await showTransform(stage)
  await showCommit(stage)
  await showCrossShardBatch(stage)
}

async function showReads(stage: DemoStage, sample: string): Promise<void> {
  await showStep(
    {
      title: 'Look up one document, three fields of it',
      text: 'The header X-Service-Version names the state you read; a later step commits with it.',
      method: 'GET',
      path: lookupPath(DEMO_TABLE, sample, 'name,license,dependencies'),
      expectedStatus: 200,
    },
    stage,
  )
  await showStep(
    {
      title: 'Scan a range of keys',
      text: 'Every package of one scope, in key order, all as the table was at one moment.',
      method: 'POST',
      path: `${tablePath(DEMO_TABLE)}/lookup`,
      body: {
        from: SCOPE,
        to: endOfPrefix(SCOPE),
        exclusive_to: true,
        fields: ['description'],
        limit: 5,
      },
      expectedStatus: 200,
    },
    stage,
  )
  await showStep(
    {
      title: 'Filter',
      text: 'Only packages that depend on "debug": a term fits a field, or one element of a list.',
      method: 'POST',
      path: `${tablePath(DEMO_TABLE)}/lookup`,
      body: {
        filter_query: { field: 'dependencies', term: 'debug' },
        fields: ['license'],
        limit: 5,
      },
      expectedStatus: 200,
    },
    stage,
  )
}

async function showTransform(stage: DemoStage): Promise<void> {
  await showStep(
    {
      title: 'Change a document in place',
      text: 'Transforms apply inside the store, so counters lose no step, however many clients count.',
      method: 'POST',
      path: `${tablePath(DEMO_TABLE)}/batch`,
      body: {
        transforms: [
          {
            key: COUNTER_KEY,
            upsert: true,
            operations: [
              { op: '$inc', path: 'visits', value: 1 },
              { op: '$addToSet', path: 'visitors', value: 'demo' },
              { op: '$currentDate', path: 'last_visit' },
            ],
          },
        ],
      },
      expectedStatus: 201,
    },
    stage,
  )
}

async function showCommit(stage: DemoStage): Promise<void> {
  const { version } = await showStep(
    {
      title: 'Read, to write what depends on it',
      text: 'Keep the version of what you read. There is no transaction to open, and no lock to hold.',
      method: 'GET',
      path: lookupPath(DEMO_TABLE, COUNTER_KEY),
      expectedStatus: 200,
    },
    stage,
  )
  if (version === undefined) {
    throw new CliError(EXIT.refused, 'INVALID_ANSWER', 'the lookup answered without a version')
  }
  const commit = {
    method: 'POST',
    path: '/transactions/commit',
    body: {
      read_set: [{ table: DEMO_TABLE, key: COUNTER_KEY, version }],
      tables: { [DEMO_TABLE]: { inserts: { [COUNTER_KEY]: { visits: 0, reset: true } } } },
    },
  } as const
  await showStep(
    {
      title: 'Commit, if nobody changed it meanwhile',
      text: 'The version is still current: all writes apply, as one.',
      ...commit,
      expectedStatus: 200,
    },
    stage,
  )
  await showStep(
    {
      title: 'Commit the same again',
      text: 'Now the version is old: nothing applies, and the answer names the key that changed.',
      ...commit,
      expectedStatus: 409,
    },
    stage,
  )
}

async function showCrossShardBatch(stage: DemoStage): Promise<void> {
  await showStep(
    {
      title: 'Write to two shards at once',
      text: 'The first and the last shard of the table. Both documents appear, or neither, also when the power fails in between.',
      method: 'POST',
      path: `${tablePath(DEMO_TABLE)}/batch`,
      body: { inserts: { [FIRST_KEY]: { other: LAST_KEY }, [LAST_KEY]: { other: FIRST_KEY } } },
      expectedStatus: 201,
    },
    stage,
  )
}
