// Turns the times of searches into findings: ratios by class and over all classes.

import { must } from '../../lib/assert.ts'
import type { Finding, LatencyFinding } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import { median, percentile } from '../report/statistics.ts'
import type { QueryClass } from '../data/query-classes.ts'
import { ENGINES } from '../peers/text-engine.ts'
import type { EngineName } from '../peers/text-engine.ts'

/** Milliseconds, by engine and round, in the order of the queries, which are the same for all. */
export interface ClassTimes {
  readonly queryClass: QueryClass
  readonly rounds: Readonly<Record<EngineName, (readonly number[])[]>>
}

/** The results of the search row. */
export interface SearchFindings {
  readonly findings: readonly Finding[]
  readonly latencies: readonly LatencyFinding[]
  readonly notes: readonly string[]
}

type PeerName = Exclude<EngineName, 'quarry'>
const PEERS: readonly PeerName[] = ['FTS5', 'MiniSearch']
/** Goals for the ratio of queries per second: the median over the classes, and each class. */
const GOALS: Record<PeerName, { readonly median: number; readonly each: number | undefined }> = {
  FTS5: { median: 20, each: 1 },
  MiniSearch: { median: 10, each: undefined },
}
const P99_GOAL = { kind: 'below', value: 20 } as const
const ONE_OR_TWO_TERMS: readonly QueryClass['family'][] = ['term', 'and', 'or']

export function findingsOf(
  times: readonly ClassTimes[],
  { documents, queriesPerRound }: { readonly documents: number; readonly queriesPerRound: number },
): SearchFindings {
  const among = `among ${formatNumber(documents)}`
  return {
    findings: [
      ...PEERS.map((peer) => medianRatio(times, peer, among)),
      ...shortQueryFindings(times, among),
      ...PEERS.flatMap((peer) => times.map((one) => classRatio(one, peer))),
    ],
    latencies: times.flatMap((one) => ENGINES.map((engine) => latencyOf(one, engine))),
    notes: PEERS.flatMap((peer) => boundedNote(times, peer, queriesPerRound)),
  }
}

function medianRatio(times: readonly ClassTimes[], peer: PeerName, among: string): Finding {
  const rounds = must(times[0], 'class').rounds[peer].length
  const ratios = times.map((one) => ratiosOf(one, peer))
  return {
    kind: 'value',
    label: `searches ${among}, median over ${times.length} classes of the ratio to ${peer}`,
    unit: '×',
    ours: Array.from({ length: rounds }, (_, round) =>
      median(ratios.map((one) => must(one[round], 'round'))),
    ),
    goal: { kind: 'at-least', value: GOALS[peer].median },
  }
}

function classRatio(times: ClassTimes, peer: PeerName): Finding {
  const { ours, theirs } = ratesOf(times, peer)
  const { each } = GOALS[peer]
  return {
    kind: 'ratio',
    label: times.queryClass.name,
    unit: '/s',
    peerName: peer,
    ours,
    peer: theirs,
    ...(each === undefined ? {} : { goal: { kind: 'at-least', value: each } }),
  }
}

function ratiosOf(times: ClassTimes, peer: PeerName): readonly number[] {
  const { ours, theirs } = ratesOf(times, peer)
  return ours.map((rate, round) => rate / must(theirs[round], 'round'))
}

/** Queries per second, by round, of the queries that both have answered. */
function ratesOf(
  { rounds }: ClassTimes,
  peer: PeerName,
): { readonly ours: readonly number[]; readonly theirs: readonly number[] } {
  const theirs = rounds[peer]
  return {
    ours: rounds.quarry.map((times, i) => rateOf(times.slice(0, theirs[i]?.length))),
    theirs: theirs.map(rateOf),
  }
}

function rateOf(latenciesMs: readonly number[]): number {
  return 1000 / meanOf(latenciesMs)
}

export function meanOf(latenciesMs: readonly number[]): number {
  return latenciesMs.reduce((sum, ms) => sum + ms, 0) / latenciesMs.length
}

/** All classes count the same, and the slowest one as well on its own. */
function shortQueryFindings(times: readonly ClassTimes[], among: string): readonly Finding[] {
  const short = times.filter(({ queryClass }) => ONE_OR_TWO_TERMS.includes(queryClass.family))
  const rounds = must(short[0], 'class').rounds.quarry.map((_, round) =>
    short.map((one) => must(one.rounds.quarry[round], 'round')),
  )
  const label = `searches of one or two terms ${among}, p99`
  return [
    {
      kind: 'value',
      label,
      unit: 'ms',
      ours: rounds.map((classes) => percentileOf(classes.flat(), 0.99)),
      goal: P99_GOAL,
    },
    {
      kind: 'value',
      label: `${label} in the slowest class`,
      unit: 'ms',
      ours: rounds.map((classes) => Math.max(...classes.map((one) => percentileOf(one, 0.99)))),
      goal: P99_GOAL,
    },
  ]
}

function latencyOf({ queryClass, rounds }: ClassTimes, engine: EngineName): LatencyFinding {
  const percentiles = (fraction: number): readonly number[] =>
    rounds[engine].map((latenciesMs) => percentileOf(latenciesMs, fraction))
  return {
    label: queryClass.name,
    side: engine,
    clients: 1,
    p50Ms: percentiles(0.5),
    p95Ms: percentiles(0.95),
    p99Ms: percentiles(0.99),
  }
}

function percentileOf(latenciesMs: readonly number[], fraction: number): number {
  return percentile(Float64Array.from(latenciesMs).toSorted(), fraction)
}

/** A note about peers that were so slow that they answered fewer queries than ours. */
function boundedNote(
  times: readonly ClassTimes[],
  peer: PeerName,
  queriesPerRound: number,
): readonly string[] {
  const bounded = times.flatMap(({ queryClass, rounds }) => {
    const answered = Math.min(...rounds[peer].map(({ length }) => length))
    return answered < queriesPerRound ? [`${queryClass.name} (${answered})`] : []
  })
  if (bounded.length === 0) return []
  return [
    `${peer} answered fewer than the ${queriesPerRound} queries of a round, for lack of time, and is ` +
      `compared by those alone (the fewest in a round): ${bounded.join(', ')}`,
  ]
}
