import type { RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { LargeStore } from './large-store.ts'

/** Taken when the last answer is there, without giving the server time to tidy up. */
export async function loadedMemory(large: LargeStore): Promise<RowResult> {
  const { memoryAfterLoading, docsPerSecond } = await large.loaded()
  const { resident, anonymous, file, residentPeak } = memoryAfterLoading
  const label = `resident memory after loading ${formatNumber(large.documents)} documents of 1 KiB`
  return {
    findings: [
      {
        kind: 'value',
        label,
        unit: 'MiB',
        ours: [resident],
        goal: { kind: 'below', value: 500 },
      },
    ],
    notes: [
      `${label}: anonymous ${formatNumber(anonymous)} MiB, files ${formatNumber(file)} MiB; ` +
        `at its peak resident ${formatNumber(residentPeak)} MiB; ` +
        `loaded at ${formatNumber(docsPerSecond)} docs/s`,
    ],
  }
}
