// A builder of graphs that never gets on, while lists are made at once: what writers see when they are faster.

import { runAtOnce } from '../../../lib/sliced.ts'
import {
  BUILDS_HERE,
  buildGraph,
  type BuiltGraph,
  type GraphBuilder,
  type GraphBuilding,
  type GraphJob,
} from '../../../node/index/vector/building/graph-job.ts'

interface HeldJob {
  readonly job: GraphJob
  readonly onDone: () => void
  built: BuiltGraph | undefined
}

export class HeldGraphs implements GraphBuilder {
  readonly #held = new Set<HeldJob>()

  /** Graphs that are waited for. */
  get count(): number {
    return this.#held.size
  }

  begin(job: GraphJob, onDone: () => void): GraphBuilding {
    if (!job.makesGraph) return BUILDS_HERE.begin(job, onDone)
    const held: HeldJob = { job, onDone, built: undefined }
    this.#held.add(held)
    return {
      advance: () => false,
      outcome: () => held.built,
      cancel: () => void this.#held.delete(held),
    }
  }

  /** Makes the graphs that are waited for. */
  release(): void {
    for (const held of this.#held) {
      held.built = runAtOnce(buildGraph(held.job))
      held.onDone()
    }
    this.#held.clear()
  }
}
