// Row `lucene-ingest`: batches of 1000 over HTTP until the last document is found, ours beside Lucene and FTS5.

import { availableParallelism } from 'node:os'
import { call, startQuarry } from '../documents/quarry-server.ts'
import { startTextPeer, TEXT_PEERS } from '../peers/text-peers.ts'
import type { TextPeer, TextPeerName } from '../peers/text-peers.ts'
import type { Goal, RatioFinding, RowResult } from '../report/finding.ts'
import { formatNumber } from '../report/report.ts'
import type { Bench } from '../suite.ts'
import { articlesUntilFound, type IngestSize } from './articles-until-found.ts'
import { ingestArticles } from './indexed-ingest.ts'

const DOCUMENTS = 200_000
const DOCUMENTS_QUICK = 20_000
const WARMUP_DOCUMENTS = 20_000

/** One client and one thread of the peer, or four clients and as many threads as there are cores. */
interface Turnout {
  readonly name: string
  readonly clients: number
  readonly threads: number
  readonly goal: Goal
}

const TURNOUTS: readonly Turnout[] = [
  { name: 'one thread', clients: 1, threads: 1, goal: { kind: 'at-least', value: 0.5 } },
  {
    name: 'all cores',
    clients: 4,
    threads: availableParallelism(),
    goal: { kind: 'at-least', value: 0.8 },
  },
]

export async function peerIngest(bench: Bench): Promise<RowResult> {
  const documents = bench.documents ?? (bench.quick ? DOCUMENTS_QUICK : DOCUMENTS)
  const findings: RatioFinding[] = []
  const notes: string[] = []
  for (const turnout of TURNOUTS) {
    const measured = await measure(bench, turnout, documents)
    findings.push(...measured.findings)
    notes.push(...measured.notes)
  }
  return { findings, notes: [...new Set(notes)] }
}

async function measure(
  bench: Bench,
  { name, clients, threads, goal }: Turnout,
  documents: number,
): Promise<{ readonly findings: readonly RatioFinding[]; readonly notes: readonly string[] }> {
  await using started = new AsyncDisposableStack()
  const server = started.use(await startQuarry(bench, `peer-ingest-${threads}`))
  const peers: TextPeer[] = []
  const notes: string[] = []
  for (const peerName of TEXT_PEERS) {
    const peer = await startTextPeer(bench, peerName, { purpose: 'inserts', threads })
    if (typeof peer === 'string') notes.push(peer)
    else peers.push(started.use(peer))
  }
  const ours: number[] = []
  const rates = new Map<TextPeerName, number[]>(peers.map((peer) => [peer.name, []]))
  // Run 0 warms up.
  for (let run = 0; run <= bench.runs; run += 1) {
    bench.progress(`ingest beside peers, ${name}: run ${run} of ${bench.runs}`)
    const count = run === 0 ? WARMUP_DOCUMENTS : documents
    const rate = await ingestArticles(bench, server, { documents: count, clients })
    if (run > 0) ours.push(rate)
    for (const peer of peers) {
      const theirs = await ingestPeer(bench, peer, { documents: count, clients })
      if (run > 0) rates.get(peer.name)?.push(theirs)
    }
  }
  const label = `ingest of ${formatNumber(documents)} until found, batches of 1000, ${name}`
  const findings = [...rates].map(([peerName, peer]): RatioFinding => ({
    kind: 'ratio',
    label,
    unit: 'docs/s',
    peerName,
    ours,
    peer,
    ...(peerName === 'Lucene 9.12' ? { goal } : {}),
  }))
  return { findings, notes }
}

/** Documents per second until all are found and on disk. */
function ingestPeer(
  bench: Bench,
  { origin, process }: TextPeer,
  size: IngestSize,
): Promise<number> {
  const target = {
    origin,
    pid: process.pid,
    waitUntilFound: () => call(`${origin}/refresh`, 'POST'),
    clear: () => call(`${origin}/clear`, 'POST'),
  }
  return articlesUntilFound(bench, target, size)
}
