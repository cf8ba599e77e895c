// The API's listener.

import { createServer } from 'node:http'
import type { InvariantError } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { buildBrowserGuard } from '../../lib/http/browser-guard.ts'
import { buildEntry } from '../../lib/http/entry.ts'
import { LOOPBACK, SERVER_OPTIONS, checkHost, listen } from '../../lib/http/listener.ts'
import { familyLines, samplesBy } from '../../lib/metrics.ts'
import type { RunningServer } from '../../lib/http/listener.ts'
import { sendBytes } from '../../lib/http/reply.ts'
import { RequestIds, requestIdOf } from '../../lib/http/request-id.ts'
import type { RequestMemory } from '../../lib/http/request-memory.ts'
import type { Log } from '../../lib/log.ts'
import type { Random } from '../../lib/random.ts'
import { loadContract } from '../../openapi/contract.ts'
import type { RequestGate } from '../batching/request-gate.ts'
import type { InferenceService } from '../service/inference-service.ts'
import { buildApp } from './app.ts'
import { ErrorTranslator } from '../../lib/http/error-translator.ts'
import { errorReply } from './error-status.ts'
import { NO_OPERATION, type InferenceMetrics } from './metrics.ts'

export interface ApiServerOptions {
  readonly service: InferenceService
  readonly host: string
  /** 0 lets the system choose; the answer's `url` says which. */
  readonly port: number
  /** Allows a host that other machines can reach, although nobody has to authenticate. */
  readonly insecure: boolean
  readonly bodyBytesMax: number
  readonly requestTimeoutMs: number
  /** How long running requests may take to end once the server closes. */
  readonly closeDeadlineMs: number
  readonly gate: RequestGate
  readonly memory: RequestMemory
  readonly metrics: InferenceMetrics
  readonly clock: Clock
  readonly log: Log
  /** Whether the log tells of every answer, at level debug. */
  readonly logsRequests: boolean
  readonly random: Random
  /** Called once a reply to the broken request is on its way; the process must end. */
  readonly onInvariantBroken: (error: InvariantError) => void
}

export async function startApiServer(options: ApiServerOptions): Promise<RunningServer> {
  const { service, host, port, insecure, gate, memory } = options
  const { metrics, clock, random, closeDeadlineMs } = options
  checkHost(host, insecure)
  const { log, onInvariantBroken } = options
  const translator = new ErrorTranslator({ log, clock, onInvariantBroken })
  metrics.addLines(() =>
    familyLines({
      name: 'quarry_inference_errors_total',
      type: 'counter',
      help: 'Requests that ended with an error, by code; unknown routes and absent documents do not count.',
      samples: samplesBy('code', translator.counts()),
    }),
  )
  const app = buildApp({
    context: { service, contract: loadContract('inference.v1') },
    translator,
    metrics,
    gate,
    memory,
    clock,
    random,
    bodyBytesMax: options.bodyBytesMax,
    requestTimeoutMs: options.requestTimeoutMs,
    requestLog: options.logsRequests ? log : undefined,
  })
  const guard = buildBrowserGuard({ loopbackOnly: LOOPBACK.has(host) })
  const entry = buildEntry({
    ids: new RequestIds(random),
    guard,
    refuse: (response, refusal) => {
      const failed = { requestId: requestIdOf(response), operation: NO_OPERATION }
      sendBytes(response, errorReply(response.req.url ?? '', translator.bodyOf(refusal, failed)))
    },
    serve: (request, response) => void app(request, response),
  })
  const server = createServer(SERVER_OPTIONS, entry)
  return listen(server, { host, port, clock, closeDeadlineMs })
}
