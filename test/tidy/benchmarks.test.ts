// docs/lab/benchmarks.md tells what each row of each suite measures, and its figures have marks of rows that exist.

import { expect } from 'chai'
import { clusterSuite } from '../../bench/cluster/suite.ts'
import { dimensionsSuite } from '../../bench/dimensions/suite.ts'
import { documentsSuite } from '../../bench/documents/suite.ts'
import { enrichmentSuite } from '../../bench/enrichment/suite.ts'
import { inferenceSuite } from '../../bench/inference/suite.ts'
import { peerSuite } from '../../bench/peer/suite.ts'
import type { SuiteEntry } from '../../bench/suite.ts'
import { textSuite } from '../../bench/text/suite.ts'
import { vectorsSuite } from '../../bench/vectors/suite.ts'
import { textOf } from './imports.ts'

/** By the heading of its section. */
const SUITES: Readonly<Record<string, SuiteEntry>> = {
  Documents: documentsSuite,
  Text: textSuite,
  Inference: inferenceSuite,
  Vectors: vectorsSuite,
  Dimensions: dimensionsSuite,
  Enrichment: enrichmentSuite,
  Peer: peerSuite,
  Cluster: clusterSuite,
}
const MARK =
  /<!-- figures (?<suite>\w+)(?: (?!quick)(?<rows>[a-z][\w,-]*))?(?: \d+)?(?: quick)?: begin -->/g

const page = textOf('docs/lab/benchmarks.md')

describe('the page of benchmarks', () => {
  it('tells what each row measures', () => {
    const untold = Object.entries(SUITES).flatMap(([heading, { rowNames }]) => {
      const [, section = ''] = page.split(`\n## ${heading}\n`)
      const [own = ''] = section.split('\n## ')
      return rowNames
        .filter((row) => !own.includes(`| \`${row}\``))
        .map((row) => `${heading}: ${row}`)
    })

    expect(untold).to.deep.equal([])
  })

  it('has marks for figures of rows that exist', () => {
    const unknown = [...page.matchAll(MARK)].flatMap(({ groups }) => {
      const suite = groups?.['suite'] ?? ''
      const entry = Object.entries(SUITES).find(([heading]) => heading.toLowerCase() === suite)
      const rows = groups?.['rows']?.split(',') ?? []
      return rows
        .filter((row) => entry?.[1].rowNames.includes(row) !== true)
        .map((row) => `${suite}: ${row}`)
    })

    expect(unknown).to.deep.equal([])
  })
})
