// The limits, defaults, counts and ports that documents tell in their sentences, each with where the code has it.
//
// A sentence is written here as the document has it, with the number put in from the code: when either changes
// alone, the sentence is not found. Tables of documents are generated (page-tables.ts).

import { readFileSync } from 'node:fs'
import path from 'node:path'
import { CLUSTER_PORTS } from '../../cli/commands/cluster-start.ts'
import { DEMO_PORTS } from '../../cli/commands/demo.ts'
import { IMAGE_BYTES_MAX } from '../../images/build-image.ts'
import { QUARRY_USER } from '../../images/files/entries.ts'
import { INFERENCE_OPTIONS } from '../../inference/config.ts'
import { defaultOf } from '../../lib/options.ts'
import { SWARM_OPTIONS } from '../../node/config.ts'
import { CLUSTER_REPLICATION } from '../../node/catalog/admin/table-replication.ts'

const ROOT = path.resolve(import.meta.dirname, '../..')
const MIB = 1024 * 1024
const MEGABYTE = 1_000_000
const SECOND_MS = 1000
const MINUTE_MS = 60_000
const HOUR_MS = 3_600_000

const WORDS = 'zero one two three four five six seven eight nine ten eleven twelve'.split(' ')

/** A number as a sentence has it. */
export function inWords(value: number): string {
  return WORDS[value] ?? value.toLocaleString('en')
}

/** The number that a source file gives to a name: `const NAME = 10 * 60_000`, or `name: 3,` in an object. */
export function numberIn(file: string, name: string): number {
  const text = readFileSync(path.join(ROOT, file), 'utf8')
  const found = new RegExp(String.raw`\b${name}(?: =|:)\s*([\d_]+(?: \* [\d_]+)*)\b`).exec(text)
  if (found?.[1] === undefined) throw new Error(`${file} gives no number to ${name}`)
  return found[1]
    .split(' * ')
    .map((factor) => Number(factor.replaceAll('_', '')))
    .reduce((product, factor) => product * factor, 1)
}

const CLUSTER_START = 'cli/commands/cluster-start.ts'
const STATIC_CONFIG = 'inference/builtin-models/embedders/quarry-static-en/config.json'

const seconds = (file: string, name: string): number => numberIn(file, name) / SECOND_MS
const minutes = (file: string, name: string): number => numberIn(file, name) / MINUTE_MS
const { replicationFactor, minInSync } = CLUSTER_REPLICATION.defaults
const leaseSeconds = numberIn('node/cluster/membership.ts', 'NODE_TTL_SECONDS')
const startedNodes = inWords(nodesStarted())
const staticNumbers = /"hidden_size": (\d+)/.exec(sourceOf(STATIC_CONFIG))?.[1] ?? ''

const port = {
  store: defaultOf(SWARM_OPTIONS.apiPort),
  health: defaultOf(SWARM_OPTIONS.healthPort),
  inference: defaultOf(INFERENCE_OPTIONS.port),
  inferenceHealth: defaultOf(INFERENCE_OPTIONS.healthPort),
}

/** Ports of this machine that documents may name. */
export const PORTS: ReadonlySet<string> = new Set([
  ...Object.values(port),
  ...Object.values(DEMO_PORTS).map(String),
  ...Array.from({ length: nodesStarted() }, (_, at) => String(CLUSTER_PORTS.apiPort + at)),
])

/** By document, the sentences with their numbers from the code. */
export const TOLD: Readonly<Record<string, readonly string[]>> = {
  'README.md': [
    `Any Node from version ${/>=(\d+)/.exec(sourceOf('package.json'))?.[1]} starts it`,
    `the Node ${/NODE_MAJOR_MIN = (\d+)/.exec(sourceOf('bin/quarry'))?.[1]} that runs it`,
    `shows ${stepsOfDemo() === 15 ? 'fifteen' : stepsOfDemo()} requests`,
    `disk, and at least ${inWords(minInSync)} have`,
    'effect and one answer within an hour',
    `shows one moment, for as long as ${numberIn('node/reads/read-pins.ts', 'PIN_MAX_MS') === HOUR_MS ? 'an hour' : '?'}`,
  ],
  'docs/tutorials/first-store.md': [],
  'docs/tutorials/search-by-meaning.md': [],
  'docs/tutorials/search-page.md': [],
  'docs/tutorials/models.md': [
    `\`quarry-static-en\`, ${staticNumbers} numbers`,
    `\`builtin-hash\`, ${numberIn('inference/pipelines/builtin/builtin-hash.ts', 'BUILTIN_HASH_DIMENSIONS')} numbers`,
  ],
  'docs/tutorials/three-nodes.md': [
    `It runs etcd and ${startedNodes} nodes as child processes`,
    `and at least ${inWords(minInSync)} have`,
    `when the lease of ${inWords(leaseSeconds)} seconds has ended`,
  ],
  'docs/how-to/load.md': [
    `takes up to ${numberIn('node/api/operation.ts', 'OPERATIONS_MAX').toLocaleString('en')} documents`,
  ],
  'docs/how-to/monitor.md': [
    `a store's is ${port.health}, an inference server's ${port.inferenceHealth}`,
  ],
  'docs/how-to/tune.md': [],
  'docs/how-to/upgrade.md': [],
  'docs/explanation/transactions.md': [
    `waits up to ${seconds('node/catalog/answers/index-wait.ts', 'INDEX_WAIT_MAX_MS')} seconds`,
    'within an hour it has one effect',
    `shows one moment, for as long as ${numberIn('node/reads/read-pins.ts', 'PIN_MAX_MS') === HOUR_MS ? 'an hour' : '?'}`,
    `a mark stays for ${numberIn('node/shard/apply/apply-transaction.ts', 'FINISHED_RETENTION_MS') === HOUR_MS ? 'an hour' : '?'}`,
    `is silent for ${inWords(seconds('node/shard/push-responder.ts', 'TRANSACTION_SILENCE_MAX_MS'))} seconds`,
    `48 bits of milliseconds and ${/COUNTER_BITS = (\d+)n/.exec(sourceOf('node/clock/hybrid-clock.ts'))?.[1]} bits of counter`,
  ],
  'docs/explanation/replication.md': [
    `wants ${inWords(replicationFactor)} replicas, and ${inWords(minInSync)} in sync`,
    `holds a lease in etcd for ${inWords(leaseSeconds)} seconds`,
    `have granted it ${inWords(seconds('node/replication/core/timing.ts', 'grantMs'))} seconds`,
  ],
  'docs/explanation/indexes.md': [],
  'docs/how-to/run-a-cluster.md': [
    `\`quarry cluster start\` runs etcd and ${startedNodes} nodes`,
    `wants ${inWords(replicationFactor)} replicas, and ${inWords(minInSync)} in sync`,
    `its lease of ${leaseSeconds} seconds is over`,
    `does not answer within ${inWords(seconds('node/replicas/tables/table-news.ts', 'TELL_MS'))} seconds may serve`,
    `answer within ${inWords(seconds('node/steering/controlled-cluster.ts', 'REPORT_MS'))} seconds from what the asked node`,
    `The hand-over takes up to ${seconds('node/cluster/departure.ts', 'DEPARTURE_MS')} s, so give the process a minute`,
    `every ${numberIn('node/cluster-config.ts', 'DAY_MS') / HOUR_MS} hours (\`check_interval_ms\`)`,
    `at ${numberIn('node/replicas/replica-audit.ts', 'BYTES_PER_SECOND') / MIB} MiB/s at most`,
    `every ${numberIn('node/cluster-config.ts', 'RELOAD_INTERVAL_MS') === MINUTE_MS ? 'minute' : '?'} (\`reload_interval_ms\``,
    `a ${numberIn('node/files-watch.ts', 'SETTLE_PART') === 10 ? 'tenth' : '?'} of the interval apart`,
    `more than ${inWords(seconds('node/reads/stale-reads.ts', 'FRESH_MS'))} seconds old`,
    `after ${numberIn('node/reads/read-pins.ts', 'PIN_MAX_MS') === HOUR_MS ? 'an hour' : '?'} if they meet`,
    `after ${inWords(minutes('node/shard/housekeeping/history-collection.ts', 'HISTORY_RETENTION_MS'))} minutes if their leaders`,
    `the node that scans for ${inWords(minutes('node/shard/history-pins.ts', 'PIN_LEASE_MS'))} minutes`,
  ],
  'docs/lab/images.md': [
    `user ${QUARRY_USER}`,
    `under ${IMAGE_BYTES_MAX.node / MEGABYTE} MB`,
    `under ${IMAGE_BYTES_MAX.inference / MEGABYTE} MB`,
  ],
  'docs/how-to/media.md': [
    `${inWords(numberIn('node/enrichment/tries.ts', 'ATTEMPTS_MAX'))} times in four hours`,
    `more than ${inWords(numberIn('node/providers/contract/provider.ts', 'CHUNKS_MAX'))} chunks is refused`,
    `may have ${numberIn('node/enrichment/prepare/source-rows.ts', 'ARTIFACT_BYTES_MAX') / MIB} MiB of vectors`,
  ],
  'docs/reference/metrics.md': [
    `on their health port: a store on ${port.health}, an inference server on ${port.inferenceHealth}`,
    `The ${numberIn('node/steering/metrics/table-metrics.ts', 'TABLES_SHOWN_MAX')} tables with the most bytes`,
    `at most once in ${inWords(seconds('node/steering/metrics/table-metrics.ts', 'KEPT_MS'))} seconds`,
    `more than ${numberIn('lib/loop-watch.ts', 'COUNTED_MS')} ms of work`,
    `The first ${numberIn('operator/metrics/cluster-metrics.ts', 'CLUSTERS_MAX')} clusters`,
    `does not answer within ${inWords(seconds('node/steering/metrics/cluster-metrics.ts', 'SUMMARY_MS'))} seconds, that is left out`,
    `other writes came first for ${inWords(seconds('node/transactions/transaction-runner.ts', 'CONTENTION_DEADLINE_MS'))} seconds`,
  ],
  'docs/how-to/install-operator.md': [
    `50m, 128 to ${/limits: \{ memory: (\d+)Mi/.exec(sourceOf('charts/quarry/values.yaml'))?.[1]} MiB`,
    `which is ${seconds('operator/runtime/health/orderly-end.ts', 'END_GRACE_MS')} s at most`,
    `hangs for ${numberIn('operator/runtime/health/operator-health.ts', 'HANG_MS_MAX') === MINUTE_MS ? 'a minute' : '?'}`,
  ],
  'docs/how-to/providers.md': [],
  'docs/how-to/vectors.md': [
    `up to ${numberIn('node/catalog/tables/table-indexes.ts', 'INDEXES_MAX')} indexes of type \`embeddings\``,
    `ships with Quarry: ${staticNumbers} numbers`,
    `a pause of up to ${numberIn('node/enrichment/enrichment-backoff.ts', 'BACKOFF_MS_MAX') === MINUTE_MS ? 'a minute' : '?'}`,
    `after ${inWords(numberIn('node/enrichment/tries.ts', 'ATTEMPTS_MAX'))} failed calls`,
    `If nobody was reached in ${inWords(numberIn('node/enrichment/tries.ts', 'ATTEMPTS_MAX'))} calls`,
    `gives ${inWords(numberIn('node/search/plan/merged-rules.ts', 'WINDOW_PER_HIT'))} hits for each of the page and at least ${numberIn('node/search/plan/merged-rules.ts', 'WINDOW_MIN')}`,
    `more than ${numberIn('node/query/fusion/autocut.ts', 'SPREADS')} times the mean distance`,
    `${numberIn('node/query/fusion/autocut.ts', 'BEHIND_MIN')} hits or more are behind it`,
    `a vector has at most ${inWords(numberIn('node/embedding/sparse-rules.ts', 'SPARSE_TERMS_MAX'))} terms`,
  ],
  'ops/README.md': [
    `on its health port, ${port.health}; an inference server on ${port.inferenceHealth}`,
  ],
  'clients/typescript/README.md': [
    `changes the limits (${clientDefault('attemptsMax')}, ${clientDefault('firstDelayMs')} ms, ${clientDefault('delayMsMax') / SECOND_MS} s)`,
  ],
}

/** Numbers that the code does not limit: what was measured, or what follows from others, with the reason. */
export const OTHERS: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  'README.md': {
    'In 60 seconds': 'a title',
    'in five minutes': 'the time of a reader',
    '[three nodes]': 'a title',
  },
  'docs/tutorials/first-store.md': { 'In five minutes': 'the time of a reader' },
  'docs/tutorials/three-nodes.md': { '# Three nodes': 'a title' },
  'docs/explanation/replication.md': { 'two replicas survive the loss of one': 'an example' },
  'docs/how-to/load.md': {
    'for a minute and a half at most': 'the sum of delays with jitter (cli/load/batch-writer.ts)',
  },
  'docs/how-to/run-a-cluster.md': {
    'three nodes and etcd on one machine with two cores': 'the machine of the figures',
    'with two synchronous standbys, three members': 'the peers of the figures',
  },
  'docs/lab/images.md': {},
  'docs/how-to/media.md': {
    'enough for some thousand chunks': 'an example of the limit before it',
  },
  'docs/reference/metrics.md': {},
  'docs/how-to/providers.md': {},
  'docs/how-to/vectors.md': {},
  'ops/README.md': {},
  'clients/typescript/README.md': {},
}

/** Documents whose numbers are what was measured or found at one time, or what a test sees when it follows them. */
export const RECORDS: readonly string[] = [
  // Walks through files, whose numbers the files have.
  'docs/explanation/architecture.md',
  'docs/lab/acceptance.md',
  'docs/lab/default-ranking.md',
  'docs/lab/second-review.md',
  'docs/lab/benchmarks.md',
  'docs/lab/faults.md',
  'docs/lab/first-minutes.md',
  'docs/lab/simulation.md',
  // first-cluster.long.test.ts follows it to the letter.
  'docs/tutorials/first-cluster.md',
]

/** Addresses of this machine that stand for somebody else's server. */
export const OTHER_PORTS: ReadonlySet<string> = new Set(['3000', '8000'])

function clientDefault(name: string): number {
  return numberIn('clients/typescript/src/retry-policy.ts', name)
}

function nodesStarted(): number {
  const [, count] = /'number of nodes', [^,]+, [^,]+, (\d+)\)/.exec(sourceOf(CLUSTER_START)) ?? []
  return Number(count)
}

/** The tour calls `showStep` once for each request. */
function stepsOfDemo(): number {
  return ['demo-tour', 'demo-queries', 'demo-meanings'].reduce((sum, name) => {
    return sum + (sourceOf(`cli/demo/${name}.ts`).match(/\bawait showStep\(/g) ?? []).length
  }, 0)
}

function sourceOf(file: string): string {
  return readFileSync(path.join(ROOT, file), 'utf8')
}
