// The API's two doors on one listener.

import { createServer, type ServerResponse } from 'node:http'
import { totalmem } from 'node:os'
import type { InvariantError } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Clock } from '../../lib/clock.ts'
import type { Log } from '../../lib/log.ts'
import { LoopWatch } from '../../lib/loop-watch.ts'
import type { Random } from '../../lib/random.ts'
import type { StoreService } from '../coordinator/store-service.ts'
import { buildApp } from './app.ts'
import { buildBrowserGuard } from '../../lib/http/browser-guard.ts'
import { loadContract } from '../../openapi/contract.ts'
import { buildEntry } from '../../lib/http/entry.ts'
import { ErrorTranslator, type FailedRequest } from '../../lib/http/error-translator.ts'
import { errorReply } from './error-status.ts'
import { buildHotDoor } from './hot-door.ts'
import type { OnAnswered } from './exchange.ts'
import { ApiMetrics, NO_OPERATION } from './metrics.ts'
import { LOOPBACK, SERVER_OPTIONS, checkHost, listen } from '../../lib/http/listener.ts'
import type { RunningServer } from '../../lib/http/listener.ts'
import { sendBytes } from '../../lib/http/reply.ts'
import { BODY_BYTES_MAX } from '../../lib/http/request-body.ts'
import { RequestIds, requestIdOf } from '../../lib/http/request-id.ts'
import { RequestMemory, defaultRequestMemoryBytes } from '../../lib/http/request-memory.ts'

const WRITE_TIMEOUT_MS = 60_000
const CLOSE_DEADLINE_MS = 10_000

export interface ApiServerOptions {
  readonly service: StoreService
  readonly host: string
  /** 0 lets the system choose; the answer's `url` says which. */
  readonly port: number
  readonly log: Log
  readonly random: Random
  /** Called once a reply to the broken request is on its way; the process must end. */
  readonly onInvariantBroken: (error: InvariantError) => void
  readonly clock?: Clock
  /** Allows a host that other machines can reach, although nobody has to authenticate. */
  readonly insecure?: boolean
  /** Default true. False sends every request through express. */
  readonly hotDoor?: boolean
  readonly bodyBytesMax?: number
  /** Of bodies on their way and of large answers, of all requests together. */
  readonly requestMemoryBytes?: number
  readonly writeTimeoutMs?: number
  readonly closeDeadlineMs?: number
  /** Shared with the health server, which publishes it. */
  readonly metrics?: ApiMetrics
  /** Whether the log tells of every answer, at level debug. */
  readonly logsRequests?: boolean
  /** Told what the event loop works for; by default nobody looks at it. */
  readonly loop?: LoopWatch
}

/** Names the operations of the contract. Whoever starts it stops it. */
export function buildLoopWatch(clock: Clock, log: Log): LoopWatch {
  const names = loadContract('store.v1').operations.map(({ operationId }) => operationId)
  return new LoopWatch({ names, clock, log, cpuMs: threadCpuMs })
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

/** Metrics for `startApiServer` and `startHealthServer` to share. */
export function buildApiMetrics(): ApiMetrics {
  return new ApiMetrics(loadContract('store.v1').operations.map(({ operationId }) => operationId))
}

export async function startApiServer(options: ApiServerOptions): Promise<RunningServer> {
  const { host, port, insecure = false, closeDeadlineMs = CLOSE_DEADLINE_MS } = options
  checkHost(host, insecure)
  const clock = options.clock ?? systemClock
  const bytesMax = options.requestMemoryBytes ?? defaultRequestMemoryBytes(totalmem())
  const memory = new RequestMemory({ bytesMax, clock })
  const metrics = options.metrics ?? buildApiMetrics()
  const { log, onInvariantBroken } = options
  const translator = new ErrorTranslator({ log, clock, onInvariantBroken })
  const loop = options.loop ?? buildLoopWatch(clock, log)
  addRequestMetrics(metrics, { memory, translator, loop })
  const appOptions = {
    context: { service: options.service, contract: loadContract('store.v1'), clock },
    translator,
    metrics,
    clock,
    writeTimeoutMs: options.writeTimeoutMs ?? WRITE_TIMEOUT_MS,
    bodyBytesMax: options.bodyBytesMax ?? BODY_BYTES_MAX,
    memory,
    loop,
    onAnswered: options.logsRequests === true ? requestLog(log) : undefined,
  }
  const hotDoor = (options.hotDoor ?? true) ? buildHotDoor(appOptions) : () => false
  const app = buildApp(appOptions)
  const guard = buildBrowserGuard({ loopbackOnly: LOOPBACK.has(host) })
  const entry = buildEntry({
    ids: new RequestIds(options.random),
    guard,
    refuse: (response, refusal) =>
      sendBytes(response, errorReply(translator.bodyOf(refusal, astray(response)))),
    serve: (request, response) => {
      if (!hotDoor(request, response)) app(request, response)
    },
  })
  const server = createServer(SERVER_OPTIONS, entry)
  return listen(server, { host, port, clock, closeDeadlineMs })
}

function astray(response: ServerResponse): FailedRequest {
  return { requestId: requestIdOf(response), operation: NO_OPERATION }
}

function requestLog(log: Log): OnAnswered {
  return ({ response, operation, status, elapsedMs }) => {
    const { method, url } = response.req
    const ms = Math.round(elapsedMs * 1000) / 1000
    const requestId = requestIdOf(response)
    log.debug('request answered', { requestId, operation, method, url, status, ms })
  }
}

interface Requests {
  readonly memory: RequestMemory
  readonly translator: ErrorTranslator
  readonly loop: LoopWatch
}

function addRequestMetrics(metrics: ApiMetrics, { memory, translator, loop }: Requests): void {
  metrics.addGauge(
    'quarry_http_requests_in_flight',
    'Requests that have begun and have no answer yet.',
    () => loop.underWay,
  )
  metrics.addCounters(
    {
      name: 'quarry_http_errors_total',
      help: 'Requests that ended with an error, by code; unknown routes and absent documents do not count.',
      label: 'code',
    },
    () => translator.counts(),
  )
  metrics.addGauge(
    'quarry_request_memory_bytes',
    'Bytes that running requests hold: bodies and large answers.',
    () => memory.heldBytes,
  )
  metrics.addGauge(
    'quarry_request_memory_limit_bytes',
    'The limit of the bytes that all requests may hold.',
    () => memory.bytesMax,
  )
}
