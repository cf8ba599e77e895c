// The tour of the store's operations, from reads to transactions over several shards.

import { EXIT } from '../../lib/process/exit-codes.ts'
import { lookupPath, tablePath } from '../service/api-client.ts'
import { CliError } from '../process/exit.ts'
import { endOfPrefix } from '../service/key-prefix.ts'
import { showMeanings } from './demo-meanings.ts'
import { showQueries } from './demo-queries.ts'
import { showStep } from './demo-step.ts'
import type { DemoStage } from './demo-step.ts'

export const DEMO_TABLE = 'packages'
/** These keys split the packages of a usual project into quarters. Scopes come before letters. */
export const DEMO_SPLIT_KEYS = ['c', 'i', 'p'] as const

const COUNTER_KEY = 'demo/counter'
const FIRST_KEY = 'a-demo/left'
const LAST_KEY = 'z-demo/right'
const SCOPE = '@types/'

/** Shows all steps. `sample` is the key of an existing document. */
export async function showTour(stage: DemoStage, sample: string): Promise<void> {
  await showReads(stage, sample)
  await showQueries(stage, DEMO_TABLE)
  await showMeanings(stage, { table: DEMO_TABLE, sample })
  await showTransform(stage)
  await showCommit(stage)
  await showCrossShardBatch(stage)
}

async function showReads(stage: DemoStage, sample: string): Promise<void> {
  await showStep(
    {
      title: 'Look up three fields of one document',
      text: 'The header X-Service-Version names the version you read; a later step commits with it.',
      method: 'GET',
      path: lookupPath(DEMO_TABLE, sample, { fields: 'name,license,dependencies' }),
      expectedStatus: 200,
    },
    stage,
  )
  await showStep(
    {
      title: 'Scan a range of keys',
      text: 'Every package of one scope, in key order, from one consistent snapshot.',
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
      text: 'Only packages that depend on "debug": a term matches a field, or one element of a list.',
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
      text: 'Transforms apply inside the store, so concurrent clients never lose an increment.',
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
      title: 'Read before a dependent write',
      text: 'Keep the version of the document. You need not open a transaction or hold a lock.',
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
      title: 'Commit, if the version is still current',
      text: 'Nobody changed the document meanwhile, so all writes apply together.',
      ...commit,
      expectedStatus: 200,
    },
    stage,
  )
  await showStep(
    {
      title: 'Commit the same again',
      text: 'Now the version is old: no write applies, and the answer names the key that changed.',
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
      text: 'One document goes to the first shard, one to the last. Either both appear or neither, even if the power fails in between.',
      method: 'POST',
      path: `${tablePath(DEMO_TABLE)}/batch`,
      body: { inserts: { [FIRST_KEY]: { other: LAST_KEY }, [LAST_KEY]: { other: FIRST_KEY } } },
      expectedStatus: 201,
    },
    stage,
  )
}
