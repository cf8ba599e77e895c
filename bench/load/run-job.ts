import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import { request as httpRequest } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { Samples, percentile } from '../report/statistics.ts'
import { Connection } from './connection.ts'
import type {
  Job,
  JobAnswer,
  LoadEnd,
  LoadJob,
  LoadResult,
  ScanJob,
  ScanResult,
} from './load-job.ts'
import { buildRequests } from './requests.ts'

export async function runJob(job: Job, clock: Clock): Promise<JobAnswer> {
  if (job.kind === 'load') return { kind: 'load', result: await runLoad(job, clock) }
  return { kind: 'scan', result: await runScan(job, clock) }
}

async function runLoad(job: LoadJob, clock: Clock): Promise<LoadResult> {
  const next = buildRequests(job.plan)
  const connections = await Promise.all(
    Array.from({ length: job.clients }, (_, client) => Connection.open(originOf(job, client))),
  )
  const latencies = new Samples()
  let answered = 0
  const cpuBefore = process.cpuUsage()
  const startMs = clock.monotonicMs()
  const window = measuredWindow(job.until, startMs)

  const runClient = async (connection: Connection): Promise<void> => {
    for (;;) {
      const sentMs = clock.monotonicMs()
      const request = sentMs < window.toMs ? next() : undefined
      if (request === undefined) return
      const { status, body } = await connection.exchange(request)
      if (status > 299) throw new Error(`status ${status}: ${body.toString('utf8')}`)
      const answeredMs = clock.monotonicMs()
      answered += 1
      if (sentMs >= window.fromMs && answeredMs <= window.toMs) latencies.add(answeredMs - sentMs)
    }
  }
  try {
    await Promise.all(connections.map(runClient))
  } finally {
    for (const connection of connections) connection.close()
  }
  const wallMs = clock.monotonicMs() - startMs
  const cpu = process.cpuUsage(cpuBefore)
  const sorted = latencies.sorted()
  return {
    requests: sorted.length,
    answered,
    elapsedMs: Math.min(wallMs, window.toMs - window.fromMs),
    p50Ms: percentile(sorted, 0.5),
    p95Ms: percentile(sorted, 0.95),
    p99Ms: percentile(sorted, 0.99),
    generatorCpu: (cpu.user + cpu.system) / 1000 / wallMs,
  }
}

function originOf({ origin, otherOrigins = [] }: LoadJob, client: number): string {
  return [origin, ...otherOrigins][client % (otherOrigins.length + 1)] ?? origin
}

interface Window {
  readonly fromMs: number
  readonly toMs: number
}

/** Only requests that begin and end within it count. */
function measuredWindow(until: LoadEnd, startMs: number): Window {
  if (until.kind === 'end-of-plan') return { fromMs: startMs, toMs: Infinity }
  const fromMs = startMs + until.warmupMs
  return { fromMs, toMs: fromMs + until.ms }
}

const NEWLINE = 0x0a

async function runScan({ url }: ScanJob, clock: Clock): Promise<ScanResult> {
  const startMs = clock.monotonicMs()
  const request = httpRequest(url, { method: 'POST' }).end()
  const [response]: IncomingMessage[] = await once(request, 'response')
  if (response?.statusCode !== 200) throw new Error(`scan: status ${response?.statusCode}`)
  let lines = 0
  for await (const chunk of response) lines += countNewlines(chunk)
  return { lines, elapsedMs: clock.monotonicMs() - startMs }
}

function countNewlines(chunk: Buffer): number {
  let count = 0
  for (let at = chunk.indexOf(NEWLINE); at !== -1; at = chunk.indexOf(NEWLINE, at + 1)) count += 1
  return count
}
