import { must } from '../../lib/assert.ts'
import type { RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { documentKey } from '../data/document-source.ts'
import { LARGE_TABLE } from './large-store.ts'
import type { LargeStore } from './large-store.ts'
import { lookupPath } from './quarry-server.ts'

/** From spawning the process to the first document that it serves. */
export async function cleanStart(bench: Bench, large: LargeStore): Promise<RowResult> {
  const { server } = await large.loaded()
  await server.process.stop()
  const seconds: number[] = []
  for (let run = 0; run < bench.runs; run += 1) {
    bench.progress(`start: run ${run + 1} of ${bench.runs}`)
    seconds.push(await timeStart(bench, large))
  }
  const documents = formatNumber(large.documents)
  return {
    findings: [
      {
        kind: 'value',
        label: `start to first lookup, ${documents} documents of 1 KiB`,
        unit: 's',
        ours: seconds,
        goal: { kind: 'below', value: 1 },
      },
    ],
  }
}

async function timeStart({ clock }: Bench, large: LargeStore): Promise<number> {
  const startMs = clock.monotonicMs()
  await using server = await large.startAgain()
  const key = documentKey(Math.floor(large.documents / 2))
  const response = await fetch(`${server.origin}${lookupPath(LARGE_TABLE)}${key}`)
  const document = await response.text()
  must(response.ok ? document : undefined, `document ${key}: status ${response.status}`)
  return (clock.monotonicMs() - startMs) / 1000
}
