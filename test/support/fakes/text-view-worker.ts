// A thread that searches views of an index that another thread writes. It answers each question with
// the hits over the view alone.

import { parentPort } from 'node:worker_threads'
import { must } from '../../../lib/assert.ts'
import { runAtOnce } from '../../../lib/sliced.ts'
import { seededRandom } from '../../../lib/random.ts'
import { DISK_WORK_HERE } from '../../../node/index/files/disk-work.ts'
import type { ViewDescription } from '../../../node/index/text/engine/index-view.ts'
import { TextMemory } from '../../../node/index/text/engine/text-memory.ts'
import { ViewReader } from '../../../node/index/text/engine/view-reader.ts'
import type { SearchResult } from '../../../node/index/text/matching/search.ts'
import type { Selection } from '../../../node/index/text/matching/select.ts'
import type { TermStatistics } from '../../../node/index/text/matching/statistics.ts'
import { TextGenerator, type TextSizes } from '../loads/text-generator.ts'

/** Queries hold functions, so that both sides make the same one from a seed. */
export interface ViewQuestion {
  readonly number: number
  readonly view: ViewDescription
  readonly querySeed: number
  readonly sizes: TextSizes
  readonly statistics: TermStatistics
  readonly nowMs: number
  readonly limit: number
}

export interface ViewAnswer {
  readonly number: number
  readonly found: SearchResult
  readonly selection: Selection
}

const port = must(parentPort, 'a port of the thread')
const reader = new ViewReader(new TextMemory(2 ** 20), DISK_WORK_HERE)

port.on('message', ({ number, view, querySeed, sizes, ...asked }: ViewQuestion) => {
  const query = new TextGenerator(seededRandom(querySeed), sizes).query()
  const snapshot = runAtOnce(reader.open(view))
  try {
    const found = runAtOnce(snapshot.search({ query, countTotal: true, ...asked }))
    const selection = runAtOnce(snapshot.select({ query, nowMs: asked.nowMs }))
    port.postMessage({ number, found, selection } satisfies ViewAnswer)
  } finally {
    snapshot.release()
  }
})
