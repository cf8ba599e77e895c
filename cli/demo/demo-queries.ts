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

/** The schema of the demo's table: it decides how searches find its documents. */
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

/** The service's default marks around found words. */
const DEFAULT_MARKS = { pre: '<em>', post: '</em>' }
/** The indentation of a step. */
const INDENT_COLUMNS = 2

/** One key for each shard. No package has any of them. */
const NOWHERE = ['b/none', 'd/none', 'j/none', 'q/none']

/** Waits until all earlier writes are searchable: a write that waits for the index waits for them. */
export async function waitForIndex(client: ApiClient, table: string): Promise<void> {
  const body = JSON.stringify({ deletes: NOWHERE, sync_level: 'full_text' })
  await client.request({ method: 'POST', path: `${tablePath(table)}/batch`, body })
}

type QueryStep = Pick<DemoStep, 'method' | 'path' | 'expectedStatus' | 'view'>

/** The same view as that of `quarry query`. */
export function hitsAndFacets(text: string, screen: Output): readonly string[] {
  const inner = { ...screen, columns: screen.columns - INDENT_COLUMNS }
  return queryView(parseAnswer(text), inner, { marks: DEFAULT_MARKS })
    .replace(/^\n+/, '')
    .split('\n')
}

/** Shows searches and facets on the demo's table. */
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
      text: 'The best hits come first, with one score for all shards and the found words marked.',
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
      text: 'A filter removes hits without changing their scores.',
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
      text: 'The beginning of a word is enough, so every key stroke can be a query.',
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
      text: 'Aggregations summarise all hits; this answer leaves the hits themselves out.',
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
