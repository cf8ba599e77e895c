// Row `smaller`: the means that Lucene's published figures speak of, on 200 000 documents.

import type { Finding, RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { startEngine } from './compared-searches.ts'
import { drawQueries, QUERY_CLASSES } from '../data/query-classes.ts'
import { meanOf } from './search-findings.ts'

const DOCUMENTS = 200_000
const DOCUMENTS_QUICK = 20_000
const QUERIES = 200
/** Milliseconds: twice what Lucene takes on such a machine. */
const GOALS = { or: 1.6, and: 0.6 } as const

export async function smallerIndex(bench: Bench): Promise<RowResult> {
  const documents = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  const articles = buildArticleSource(bench.seed)
  bench.progress(`smaller: loading ${formatNumber(documents)} documents`)
  await using engine = await startEngine(bench, { engine: 'quarry', documents, name: 'smaller' })
  const meanOfFamily = async (family: keyof typeof GOALS, round: number): Promise<number> => {
    const means: number[] = []
    for (const queryClass of QUERY_CLASSES) {
      if (queryClass.family !== family) continue
      const seed = bench.seed * 1000 + round
      const queries = drawQueries(articles, queryClass, { seed, documents, count: QUERIES })
      means.push(meanOf(await engine.measure({ queries, bounds: undefined })))
    }
    return meanOf(means)
  }
  const means = { or: [] as number[], and: [] as number[] }
  for (let round = 0; round <= bench.runs; round += 1) {
    for (const family of ['or', 'and'] as const) {
      const mean = await meanOfFamily(family, round)
      if (round > 0) means[family].push(mean) // the first was the warm-up
    }
  }
  const findings = (['or', 'and'] as const).map((family): Finding => {
    return {
      kind: 'value',
      label: `${family.toUpperCase()} of two terms among ${formatNumber(documents)}, mean`,
      unit: 'ms',
      ours: means[family],
      goal: { kind: 'below', value: GOALS[family] },
    }
  })
  return { findings }
}
