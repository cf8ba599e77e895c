import { assert } from '../../lib/assert.ts'
import type { RowResult } from '../report/finding.ts'
import { MemorySampler } from '../process-memory.ts'
import { spreadOf } from '../report/statistics.ts'
import type { Bench } from '../suite.ts'
import { formatNumber } from '../report/report.ts'
import { loadTable } from './load-table.ts'
import { createTable, startQuarry, tablePath } from './quarry-server.ts'

const DOCUMENTS = 10_000_000

/** Loaded once and scanned once: there is no peer, and the memory of a long scan is the question. */
export async function fullScan(bench: Bench): Promise<RowResult> {
  const documents = bench.quick ? DOCUMENTS / 10 : DOCUMENTS
  await using server = await startQuarry(bench, 'scan')
  await createTable(server, 'scan')
  bench.progress(`scan: loading ${formatNumber(documents)} small documents`)
  const { elapsedMs: loadMs } = await loadTable(bench, server, {
    table: 'scan',
    shape: 'small',
    documents,
  })
  bench.progress('scan: scanning')
  const sampler = new MemorySampler(server.process.pid, bench.clock)
  const url = `${server.origin}${tablePath('scan')}/lookup`
  const { lines, elapsedMs } = await bench.generator.scan({ url })
  const samples = await sampler.stop()
  assert(lines === documents, `the scan gives ${documents} lines, not ${lines}`)

  const resident = spreadOf(samples.map((sample) => sample.resident))
  const anonymous = spreadOf(samples.map((sample) => sample.anonymous))
  const file = spreadOf(samples.map((sample) => sample.file))
  const range = ({ min, max }: typeof resident): string =>
    `${formatNumber(min)} to ${formatNumber(max)} MiB`
  const label = `scan of ${formatNumber(documents)} small documents`
  return {
    findings: [
      { kind: 'value', label, unit: 'docs/s', ours: [(lines / elapsedMs) * 1000] },
      {
        kind: 'value',
        label: `${label}, anonymous memory max - min`,
        unit: 'MiB',
        ours: [anonymous.max - anonymous.min],
        goal: { kind: 'below', value: 100 },
      },
      // The difference is pages of table files that the scan has mapped and the kernel may take back.
      {
        kind: 'value',
        label: `${label}, resident memory max - min`,
        unit: 'MiB',
        ours: [resident.max - resident.min],
        goal: { kind: 'below', value: 100 },
      },
    ],
    notes: [
      `${label}: resident ${range(resident)}, of which anonymous ${range(anonymous)} ` +
        `and files ${range(file)}, in ${samples.length} samples; ` +
        `loaded at ${formatNumber((documents / loadMs) * 1000)} docs/s`,
    ],
  }
}
