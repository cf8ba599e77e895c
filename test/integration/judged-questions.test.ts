// How good the default order of a search box is: judged questions about the packages of this checkout, which the demo
// loads, in a table without a schema and in one with the demo's. docs/lab/default-ranking.md has the figures of larger corpora.

import path from 'node:path'
import { expect } from 'chai'
import { DEMO_SCHEMA } from '../../cli/demo/demo-queries.ts'
import { openNpmSource } from '../../cli/load/npm-source.ts'
import type { JsonObject } from '../../node/document/exact-json.ts'
import { parseQuery } from '../../node/query/language/parse-query.ts'
import { parseTableSchema, type TableSchema } from '../../node/schema/table-schema.ts'
import { DESCRIBED, judge, NAMED } from '../support/worlds/judged-packages.ts'
import { EVERYTHING, MemoryTextIndex } from '../support/worlds/memory-text-index.ts'

const NODE_MODULES = path.resolve(import.meta.dirname, '../../node_modules')
/** Below what is measured today, because the packages of a checkout change. */
const LEAST = {
  named: { mrr: 0.97, recall: 0.97 },
  described: { mrr: 0.9, recall: 0.8 },
} as const
const TABLES: Readonly<Record<string, TableSchema | undefined>> = {
  'a table without a schema': undefined,
  'the table of the demo': parseTableSchema(DEMO_SCHEMA, undefined),
}

describe('the answers to judged questions', () => {
  const packages = new Map<string, JsonObject>()

  before(async () => {
    for await (const item of (await openNpmSource(NODE_MODULES)).items()) {
      if (item.kind !== 'document') continue
      const document: JsonObject = JSON.parse(item.document.json.toString())
      const { name } = document
      if (typeof name === 'string') packages.set(name, document)
    }
  }).timeout(60_000)

  for (const [name, schema] of Object.entries(TABLES)) {
    it(`are good enough in ${name}`, () => {
      const index = new MemoryTextIndex(Object.fromEntries(packages), schema)
      const known = new Set(packages.keys())
      const answer = (question: string): readonly string[] => {
        const query = parseQuery({ simple: { query: question } }, 'query')
        const conditions = { ...EVERYTHING.conditions, query }
        return index.search({ ...EVERYTHING, conditions }).hits.map(({ key }) => {
          return Buffer.from(key).toString()
        })
      }
      const [named, described] = [judge(NAMED, known, answer), judge(DESCRIBED, known, answer)]

      // The premise: the checkout has the packages that the questions are about.
      expect(named.questions).to.be.above(NAMED.length / 2)
      expect(described.questions).to.be.above(DESCRIBED.length / 2)
      const shown = JSON.stringify({ named, described })
      expect(named.mrr, shown).to.be.at.least(LEAST.named.mrr)
      expect(named.recall, shown).to.be.at.least(LEAST.named.recall)
      expect(described.mrr, shown).to.be.at.least(LEAST.described.mrr)
      expect(described.recall, shown).to.be.at.least(LEAST.described.recall)
    }).timeout(120_000)
  }
})
