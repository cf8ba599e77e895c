// Reads the delay of the server's event loop from its metrics.

import { must } from '../../lib/assert.ts'
import { call } from '../documents/quarry-server.ts'
import type { QuarryServer } from '../documents/quarry-server.ts'

const P99 = /^nodejs_eventloop_lag_p99_seconds (?<seconds>\S+)$/m
/** Node's histogram counts from timer to timer, 10 ms apart, so that an idle loop shows 10 ms. */
const TIMER_PERIOD_MS = 10

/** The 99th percentile in ms since the last call. */
export async function eventLoopDelayP99Ms({ healthOrigin }: QuarryServer): Promise<number> {
  return parseDelayP99Ms(await call(`${healthOrigin}/metrics`, 'GET'))
}

export function parseDelayP99Ms(metrics: string): number {
  const seconds = must(P99.exec(metrics)?.groups?.['seconds'], 'the metric of the event loop')
  return Math.max(0, Number(seconds) * 1000 - TIMER_PERIOD_MS)
}
