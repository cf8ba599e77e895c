// A worker whose model works in steps or blocks its thread, as the first item says.

import { setTimeout as sleep } from 'node:timers/promises'
import { serveModels } from '../../../inference/runtime/worker-host.ts'

const STEP_MS = 20

serveModels(async () => ({
  info: undefined,
  run: async (items: readonly never[], signal: AbortSignal) => {
    const [kind, steps]: readonly unknown[] = items
    if (kind === 'held up') for (;;); // as a graph that does not end
    for (let step = 0; step < Number(steps); step++) {
      if (kind === 'steps') signal.throwIfAborted()
      await sleep(STEP_MS)
    }
    return items
  },
  dispose: async () => undefined,
}))
