// The part of the tour that searches by meaning. The vectors come from the model that ships with the product.

import type { Clock } from '../../lib/clock.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { tablePath } from '../service/api-client.ts'
import { ServiceRefusal } from '../service/api-client.ts'
import type { ApiClient } from '../service/api-client.ts'
import { memberOf, numberOf, parseAnswer, textOf } from '../service/service-answers.ts'
import { hitsAndFacets } from './demo-queries.ts'
import { showStep } from './demo-step.ts'
import type { DemoStage, DemoStep } from './demo-step.ts'

const INDEX = 'meaning'
const NOT_FOUND = 404
const POLL_MS = 50
const ENRICHED_MAX_MS = 60_000

/** An index that names no embedder: the shipped model embeds what the template makes of each document. */
const CONFIG = {
  type: 'embeddings',
  template: '{{name}} {{description}} {{#each keywords}}{{this}} {{/each}}',
  distance_metric: 'cosine',
}

/** Adds the index to a table that has none, and waits until every document has its vector. */
export async function prepareMeanings(
  client: ApiClient,
  table: string,
  clock: Clock,
): Promise<void> {
  const path = `${tablePath(table)}/indexes/${INDEX}`
  if (!(await hasIndex(client, path))) {
    await client.request({ method: 'POST', path, body: JSON.stringify(CONFIG) })
  }
  const deadlineMs = clock.monotonicMs() + ENRICHED_MAX_MS
  for (;;) {
    const { text } = await client.request({ method: 'GET', path })
    const status = memberOf(parseAnswer(text), 'status')
    const pending = numberOf(memberOf(status, 'enrichment'), 'pending')
    if (memberOf(status, 'rebuilding') === false && pending === 0) return
    if (clock.monotonicMs() > deadlineMs) {
      const problem = textOf(status, 'error')
      throw new CliError(
        EXIT.refused,
        'LATE',
        `the index "${INDEX}" is not complete: ${problem === '' ? 'it is slow' : problem}`,
      )
    }
    await clock.sleep(POLL_MS)
  }
}

async function hasIndex(client: ApiClient, path: string): Promise<boolean> {
  try {
    await client.request({ method: 'GET', path })
    return true
  } catch (error) {
    if (error instanceof ServiceRefusal && error.status === NOT_FOUND) return false
    throw error
  }
}

/** Shows searches by meaning. `sample` is the key of an existing document. */
export async function showMeanings(
  stage: DemoStage,
  { table, sample }: { readonly table: string; readonly sample: string },
): Promise<void> {
  const query: Pick<DemoStep, 'method' | 'path' | 'expectedStatus' | 'view'> = {
    method: 'POST',
    path: `${tablePath(table)}/query`,
    expectedStatus: 200,
    view: hitsAndFacets,
  }
  await showStep(
    {
      ...query,
      title: 'Search by meaning',
      text: 'No word of the question needs to be in a document: the store has a vector of what each one means, by the model that ships with it.',
      body: {
        semantic_search: 'compress data',
        indexes: [INDEX],
        fields: ['description'],
        limit: 4,
      },
    },
    stage,
  )
  await showStep(
    {
      ...query,
      title: 'Search by words and by meaning',
      text: 'Both lists are merged by rank; each hit tells its value in either index.',
      body: {
        full_text_search: { query: 'description:http' },
        semantic_search: 'compress data',
        indexes: [INDEX],
        fields: ['description'],
        limit: 4,
      },
    },
    stage,
  )
  await showStep(
    {
      ...query,
      title: 'More like this',
      text: 'A document of the table is the question.',
      body: { similar_to: { key: sample }, indexes: [INDEX], fields: ['description'], limit: 4 },
    },
    stage,
  )
}
