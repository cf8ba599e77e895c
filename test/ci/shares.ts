// How the tests are divided between processes of mocha: which files share one, which process starts first, and
// which files must have the machine for themselves.

/** Files that one process of mocha runs. */
export interface Share {
  readonly files: readonly string[]
  /** What it is expected to take. */
  readonly seconds: number
}

export interface Division {
  /** In the order in which they start, the longest first. They may run side by side. */
  readonly sideBySide: readonly Share[]
  /** What measures. It runs when nothing else does. */
  readonly alone: Share
}

/** A shorter share evens out what was estimated wrongly; each one costs the start of a process and its modules. */
const SHARE_SECONDS = 60

/** What a file takes that is not in the table below. */
const USUAL_SECONDS = 2

/**
 * Long files: those that take more than about 10 s on two idle cores, with their seconds there; the reporter names the longest. `npm test`
 * leaves them to `npm run test:all`: soaks, crashes and simulations of hundreds of rounds, clusters of three nodes.
 */
const SECONDS_BY_FILE: Readonly<Record<string, number>> = {
  'test/integration/cli-swarm.test.ts': 52,
  'test/integration/cluster-contract.test.ts': 33,
  'test/integration/cluster-control.test.ts': 40,
  'test/integration/cluster-departure.test.ts': 12,
  'test/integration/cluster-dropped.test.ts': 17,
  'test/integration/cluster-faults.test.ts': 68,
  'test/integration/cluster-goes-back.test.ts': 120,
  'test/integration/cluster-last-node.test.ts': 38,
  'test/integration/cluster-near-searches.test.ts': 10,
  'test/integration/cluster-nodes.test.ts': 92,
  'test/integration/cluster-reach.test.ts': 12,
  'test/integration/cluster-rotation.test.ts': 8,
  'test/integration/cluster-simulation-defects.test.ts': 106,
  'test/integration/cluster-simulation.test.ts': 57,
  'test/integration/cluster-start.test.ts': 15,
  'test/integration/cluster-steering.test.ts': 52,
  'test/integration/cluster-suites.test.ts': 73,
  'test/integration/cluster-text-suites.test.ts': 142,
  'test/integration/cluster-transactions.test.ts': 52,
  'test/integration/completeness-defects.test.ts': 142,
  'test/integration/completeness.test.ts': 53,
  'test/integration/crash.test.ts': 103,
  'test/integration/disk-full-api.test.ts': 13,
  'test/integration/docs-browser.test.ts': 72,
  'test/integration/embeddings.test.ts': 25,
  'test/integration/enrichment.test.ts': 26,
  'test/integration/etcd-coordination.test.ts': 29,
  'test/integration/etcd-faults.test.ts': 24,
  'test/integration/etcd-lost-answers.test.ts': 12,
  'test/integration/field-race.test.ts': 18,
  'test/integration/filter-defects.test.ts': 63,
  'test/integration/filter-doors.test.ts': 17,
  'test/integration/held-memory.test.ts': 31,
  'test/integration/hostile-clients.test.ts': 29,
  'test/integration/images.test.ts': 60,
  'test/integration/index-build-resumed.test.ts': 16,
  'test/integration/index-build-told.test.ts': 8,
  'test/integration/index-simulation-defects.test.ts': 47,
  'test/integration/index-simulation.test.ts': 80,
  'test/integration/inference-endless-stream.test.ts': 8,
  'test/integration/inference-hostile-models.test.ts': 23,
  'test/integration/inference-server.test.ts': 22,
  'test/integration/inference-storms.test.ts': 10,
  'test/integration/install.test.ts': 52,
  'test/integration/lease-thread.test.ts': 30,
  'test/integration/level-power-cut.test.ts': 26,
  'test/integration/many-tables-start.test.ts': 8,
  'test/integration/model.test.ts': 34,
  'test/integration/near-reads.test.ts': 20,
  'test/integration/order-defects.test.ts': 62,
  'test/integration/power-cut.test.ts': 9,
  'test/integration/replica-copies.test.ts': 43,
  'test/integration/segmented-crash.test.ts': 60,
  'test/integration/serializability-http.test.ts': 25,
  'test/integration/shards-together-defects.test.ts': 35,
  'test/integration/shards-together.test.ts': 8,
  'test/integration/slices-inference.test.ts': 40,
  'test/integration/slices-starts.test.ts': 26,
  'test/integration/slices-store.test.ts': 62,
  'test/integration/step-crash.test.ts': 10,
  'test/integration/text-crash.test.ts': 15,
  'test/integration/text-differential.test.ts': 31,
  'test/integration/text-fields.test.ts': 7,
  'test/integration/text-index.test.ts': 41,
  'test/integration/text-pruning.test.ts': 10,
  'test/integration/text-scripts.test.ts': 15,
  'test/integration/tutorials.test.ts': 60,
  'test/unit/node/index/host/question-route.test.ts': 14,
  'test/unit/node/index/host/supervision.test.ts': 16,
  'test/unit/node/index/kinds/question-steps.test.ts': 23,
  'test/unit/node/index/segments/segmented-index.test.ts': 45,
  'test/unit/node/index/sparse/search/run-sparse.test.ts': 18,
  'test/unit/node/index/text/documents/document-tester.test.ts': 12,
  'test/unit/node/index/vector/engine/vector-index-tiers.test.ts': 20,
  'test/unit/node/index/vector/hosted/vector-engine.test.ts': 45,
  'test/unit/node/index/vector/search/dense-search.test.ts': 60,
  'test/unit/node/media/image-cost.test.ts': 18,
  'test/unit/node/replication/core/planted-defects.test.ts': 18,
  'test/unit/node/replication/core/simulation.test.ts': 15,
  'test/unit/node/replication/snapshot/receive-snapshot.test.ts': 12,
  'test/unit/node/shard/following/index-follower.test.ts': 23,
  'test/unit/node/template/large-documents.test.ts': 28,
  'test/unit/operator/machines/crash-points.test.ts': 8,
}

/** `quarry demo` looks for a free port, and opens it later: two at once may choose the same. */
const DEMOS = [
  'test/integration/cli-swarm.test.ts',
  'test/integration/docs-browser.test.ts',
  'test/integration/docs-examples.test.ts',
]

/**
 * What a test says that measures time of the processor: it counts no other program, but the same work takes twice as
 * much while another program has the other half of the core and its caches.
 */
const MEASURES =
  /\/support\/slices\/(?:slice-rule|step-time|yardstick)|\.(?:cpuUsage|threadCpuUsage)\(/

/** `quick` is what a change needs while it is made; `rest` is what that leaves out. */
export const SCOPES = ['quick', 'rest', 'all'] as const
export type Scope = (typeof SCOPES)[number]

export function filesInScope(files: readonly string[], scope: Scope): readonly string[] {
  if (scope === 'all') return files
  return files.filter((file) => Object.hasOwn(SECONDS_BY_FILE, file) === (scope === 'rest'))
}

/** Those of the table that are not among `files`: a file that was moved must not become a quick one unseen. */
export function longFilesMissingFrom(files: readonly string[]): readonly string[] {
  return Object.keys(SECONDS_BY_FILE).filter((file) => !files.includes(file))
}

/** `textOf` gives the source of a file. Each file is in one share; files of a folder are in few, for their modules. */
export function divideTests(files: readonly string[], textOf: (file: string) => string): Division {
  const alone = files.filter((file) => MEASURES.test(textOf(file)))
  const others = files.filter((file) => !alone.includes(file))
  const demos = others.filter((file) => DEMOS.includes(file))
  const single = others.filter((file) => !demos.includes(file))
  const shares = [...(demos.length === 0 ? [] : [shareOf(demos)]), ...filledShares(single)]
  return {
    sideBySide: shares.toSorted((a, b) => b.seconds - a.seconds),
    alone: shareOf(alone),
  }
}

function filledShares(files: readonly string[]): readonly Share[] {
  const shares: Share[] = []
  let filling: string[] = []
  for (const file of files.toSorted()) {
    const next = shareOf([...filling, file])
    if (filling.length > 0 && next.seconds > SHARE_SECONDS) {
      shares.push(shareOf(filling))
      filling = [file]
    } else {
      filling = [...next.files]
    }
  }
  return filling.length === 0 ? shares : [...shares, shareOf(filling)]
}

function shareOf(files: readonly string[]): Share {
  const seconds = files.map((file) => SECONDS_BY_FILE[file] ?? USUAL_SECONDS)
  return { files, seconds: seconds.reduce((sum, each) => sum + each, 0) }
}
