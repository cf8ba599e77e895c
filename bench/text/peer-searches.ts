// Row `lucene`: AND, OR and phrases over HTTP, ours beside Lucene and FTS5, in turns. Of each server's time that of
// its trivial request is taken off, so that no HTTP server is compared with another.

import { must } from '../../lib/assert.ts'
import { sendDocuments } from '../documents/load-table.ts'
import { call, lookupPath, SETTLE_TIMEOUT_MS, startQuarry } from '../documents/quarry-server.ts'
import { buildArticleSource } from '../data/article-source.ts'
import { drawQueries, QUERY_CLASSES } from '../data/query-classes.ts'
import type { QueryClass } from '../data/query-classes.ts'
import { buildRequestBody } from '../data/request-body.ts'
import type { LoadResult, RequestPlan } from '../load/load-job.ts'
import { startTextPeer, TEXT_PEERS } from '../peers/text-peers.ts'
import type { TextPeerName } from '../peers/text-peers.ts'
import { settle } from '../process-memory.ts'
import type { ReadyProcess } from '../child-process.ts'
import type { Goal, LatencyFinding, RatioFinding, RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { createArticleTable, queryPath, waitUntilSearchable } from './article-table.ts'
import { checkScores } from './peer-scores.ts'

const DOCUMENTS = 200_000
const DOCUMENTS_QUICK = 20_000
const QUERIES_PER_CLASS = 100
const TABLE = 'articles'
/** Peers answer with keys and scores. */
const KEYS_ONLY = ['_id']
const TURN_MS = { warmup: 4000, measured: 2000 } as const
const SETTLING_MS = 200
const FAMILIES = ['or', 'and', 'phrase'] as const
type Family = (typeof FAMILIES)[number]
/** `trivial` is the answer to a key, which passes the door and no index. */
type Work = Family | 'trivial'
const WORKS: readonly Work[] = ['trivial', ...FAMILIES]
const GOALS: Readonly<Record<Family, Goal>> = {
  or: { kind: 'at-most', value: 1.1 },
  and: { kind: 'at-most', value: 1.8 },
  phrase: { kind: 'at-most', value: 2 },
}

/** Ours or a peer's, loaded. */
interface TextServer {
  readonly name: 'quarry' | TextPeerName
  readonly origin: string
  readonly process: ReadyProcess
}

type Plans = Readonly<Record<Work, RequestPlan>>

export async function peerSearches(bench: Bench): Promise<RowResult> {
  const documents = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  await using started = new AsyncDisposableStack()
  const { servers, notes } = await startServers(bench, started, documents)
  const bodies = new Map(
    FAMILIES.map((family) => [family, bodiesOf(bench.seed, family, documents)]),
  )
  const plans = plansOf(bench.seed, bodies, documents)
  await checkScores(servers, queryPath(TABLE), [...bodies.values()].flat())
  const results = await measure(bench, servers, plans)
  const label = `among ${formatNumber(documents)}, less a trivial request`
  return {
    findings: TEXT_PEERS.flatMap((peer) => findingsOf(results, peer, label)),
    latencies: latenciesOf(results),
    notes,
  }
}

async function startServers(
  bench: Bench,
  started: AsyncDisposableStack,
  documents: number,
): Promise<{ readonly servers: readonly TextServer[]; readonly notes: readonly string[] }> {
  const ours = started.use(await startQuarry(bench, 'peer-searches'))
  const servers: TextServer[] = [{ name: 'quarry', ...ours }]
  const notes: string[] = []
  bench.progress(`lucene: loading ${formatNumber(documents)} articles into quarry`)
  await createArticleTable(ours, TABLE)
  await sendDocuments(bench, ours, { table: TABLE, shape: 'article', documents })
  await waitUntilSearchable(ours, TABLE)
  await settle(ours.process.pid, bench.clock, SETTLE_TIMEOUT_MS)
  for (const name of TEXT_PEERS) {
    const peer = await startTextPeer(bench, name, { purpose: 'searches', threads: 1 })
    if (typeof peer === 'string') {
      notes.push(peer)
      continue
    }
    started.use(peer)
    bench.progress(`lucene: loading into ${name}`)
    await sendDocuments(bench, peer, { table: TABLE, shape: 'article', documents })
    await call(`${peer.origin}/refresh`, 'POST')
    await call(`${peer.origin}/settle`, 'POST')
    servers.push(peer)
  }
  return { servers, notes }
}

function bodiesOf(seed: number, family: Family, documents: number): readonly string[] {
  const articles = buildArticleSource(seed)
  const classes = QUERY_CLASSES.filter((one: QueryClass) => one.family === family)
  const drawn = classes.map((queryClass) =>
    drawQueries(articles, queryClass, { seed, documents, count: QUERIES_PER_CLASS }),
  )
  return Array.from({ length: QUERIES_PER_CLASS * classes.length }, (_, i) => {
    const queries = must(drawn[i % classes.length], 'class')
    const query = must(queries[Math.floor(i / classes.length)], 'query')
    return buildRequestBody(query, KEYS_ONLY)
  })
}

function plansOf(
  seed: number,
  bodies: ReadonlyMap<Family, readonly string[]>,
  documents: number,
): Plans {
  const path = queryPath(TABLE)
  const planOf = (family: Family): RequestPlan => {
    return { kind: 'bodies', path, bodies: must(bodies.get(family), 'bodies'), repeats: true }
  }
  return {
    trivial: { kind: 'lookups', path: lookupPath(TABLE), seed, documents },
    or: planOf('or'),
    and: planOf('and'),
    phrase: planOf('phrase'),
  }
}

type Results = ReadonlyMap<TextServer['name'], Readonly<Record<Work, LoadResult[]>>>

async function measure(
  bench: Bench,
  servers: readonly TextServer[],
  plans: Plans,
): Promise<Results> {
  const results: Results = new Map(
    servers.map(({ name }) => [name, { trivial: [], or: [], and: [], phrase: [] }]),
  )
  // Run 0 warms up: a JVM compiles for seconds.
  for (let run = 0; run <= bench.runs; run += 1) {
    bench.progress(run === 0 ? 'lucene: warm-up' : `lucene: run ${run} of ${bench.runs}`)
    const ms = TURN_MS[run === 0 ? 'warmup' : 'measured'] / (bench.quick ? 4 : 1)
    const until = { kind: 'time', warmupMs: SETTLING_MS, ms } as const
    for (const { work, name, origin } of turnsOf(servers)) {
      const result = await bench.generator.load({ origin, clients: 1, plan: plans[work], until })
      if (run > 0) must(results.get(name), 'results')[work].push(result)
    }
  }
  return results
}

/** The servers take turns with each kind of work. */
function turnsOf(servers: readonly TextServer[]) {
  return WORKS.flatMap((work) => servers.map(({ name, origin }) => ({ work, name, origin })))
}

function findingsOf(results: Results, peer: TextPeerName, label: string): readonly RatioFinding[] {
  const theirs = results.get(peer)
  if (theirs === undefined) return []
  const ours = must(results.get('quarry'), 'ours')
  return FAMILIES.map((family) => ({
    kind: 'ratio',
    label: `${family.toUpperCase()} ${label}`,
    unit: 'ms',
    peerName: peer,
    ours: netMs(ours, family),
    peer: netMs(theirs, family),
    ...(peer === 'Lucene 9.12' ? { goal: GOALS[family] } : {}),
  }))
}

/** The mean time of a query less that of the trivial request in the same run. */
function netMs(results: Readonly<Record<Work, LoadResult[]>>, family: Family): readonly number[] {
  const meansOf = (work: Work): number[] =>
    results[work].map(({ elapsedMs, requests }) => elapsedMs / requests)
  const trivial = meansOf('trivial')
  return meansOf(family).map((mean, run) => mean - must(trivial[run], 'run'))
}

function latenciesOf(results: Results): readonly LatencyFinding[] {
  return WORKS.flatMap((work) =>
    [...results].map(([side, byWork]) => ({
      label: work,
      side,
      clients: 1,
      p50Ms: byWork[work].map(({ p50Ms }) => p50Ms),
      p95Ms: byWork[work].map(({ p95Ms }) => p95Ms),
      p99Ms: byWork[work].map(({ p99Ms }) => p99Ms),
    })),
  )
}
