// The part of the tour that searches.

import { tablePath } from '../service/api-client.ts'
import type { ApiClient } from '../service/api-client.ts'
import { queryView } from '../render/query-view.ts'
import { parseAnswer } from '../service/service-answers.ts'
import type { Output } from '../process/terminal.ts'
import { showStep } from './demo-step.ts'
import type { DemoStage, DemoStep } from './demo-step.ts'

const TEXT = { type: 'string', 'x-service-types': ['text'] }
const KEYWORD = { type: 'string', 'x-service-types': ['keyword'] }

/** What the demo's documents look like to searches. */
export const DEMO_SCHEMA = {
  default_type: 'package',
  document_schemas: {
    package: {
      schema: {
        type: 'object',
        'x-service-include-in-all': ['name', 'description', 'readme'],
        properties: {
          name: { type: 'string', 'x-service-types': ['text', 'keyword', 'search_as_you_type'] },
          description: TEXT,
          readme: TEXT,
          keywords: { type: 'array', items: KEYWORD },
          license: KEYWORD,
          dependencies: { type: 'array', items: KEYWORD },
          files: { type: 'number' },
          bytes: { type: 'number' },
        },
        additionalProperties: true,
      },
    },
  },
}

/** What the service marks words with unless it is told otherwise. */
const DEFAULT_MARKS = { pre: '<em>', post: '</em>' }
/** Steps stand this far from the edge. */
const INDENT_COLUMNS = 2

/** A key of every shard, none of which a package has. */
const NOWHERE = ['b/none', 'd/none', 'j/none', 'q/none']

/** A write that waits for the index waits for all that was written before. */
export async function waitForIndex(client: ApiClient, table: string): Promise<void> {
  const body = JSON.stringify({ deletes: NOWHERE, sync_level: 'full_text' })
  await client.request({ method: 'POST', path: `${tablePath(table)}/batch`, body })
}

type QueryStep = Pick<DemoStep, 'method' | 'path' | 'expectedStatus' | 'view'>

/** As `quarry query` shows it. */
function hitsAndFacets(text: string, screen: Output): readonly string[] {
  const inner = { ...screen, columns: screen.columns - INDENT_COLUMNS }
  return queryView(parseAnswer(text), inner, DEFAULT_MARKS).replace(/^\n+/, '').split('\n')
}

export async function showQueries(stage: DemoStage, table: string): Promise<void> {
  const query: QueryStep = {
    method: 'POST',
    path: `${tablePath(table)}/query`,
    expectedStatus: 200,
    view: hitsAndFacets,
  }
  await showSearches(stage, query)
  await showFacets(stage, query)
}

async function showSearches(stage: DemoStage, query: QueryStep): Promise<void> {
  await showStep(
    {
      ...query,
      title: 'Search',
      text: 'The best hits first, scored over all shards as one, with the words marked.',
      body: {
        full_text_search: { query: 'description:parser description:json^2' },
        fields: ['name'],
        highlight: { fields: ['description'] },
        limit: 3,
      },
    },
    stage,
  )
  await showStep(
    {
      ...query,
      title: 'Search for a phrase, in packages of a range of sizes',
      text: 'A filter narrows down without a say in the score.',
      body: {
        full_text_search: { match_phrase: 'command line', field: 'readme' },
        filter_query: { min: 10_000, max: 1_000_000, field: 'bytes' },
        fields: ['name', 'bytes'],
        limit: 3,
      },
    },
    stage,
  )
  await showStep(
    {
      ...query,
      title: 'Search as you type',
      text: 'Every key stroke is a query: the beginning of a word is enough.',
      body: {
        full_text_search: {
          multi_match: { query: 'expr', fields: ['name._2gram'], type: 'bool_prefix' },
        },
        fields: ['name'],
        limit: 3,
      },
    },
    stage,
  )
}

async function showFacets(stage: DemoStage, query: QueryStep): Promise<void> {
  await showStep(
    {
      ...query,
      title: 'Count by licence and size',
      text: 'Summaries over everything that was found, here without hits.',
      body: {
        limit: 0,
        aggregations: {
          licences: { type: 'terms', field: 'license', size: 3 },
          sizes: {
            type: 'range',
            field: 'bytes',
            ranges: [
              { name: 'small', to: 100_000 },
              { name: 'large', from: 100_000 },
            ],
          },
        },
      },
    },
    stage,
  )
}
