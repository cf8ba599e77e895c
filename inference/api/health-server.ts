// The health port: for the machinery around us, never for clients. Port 4200 unless configured.

import { createServer } from 'node:http'
import type { Clock } from '../../lib/clock.ts'
import { SERVER_OPTIONS, listen } from '../../lib/http/listener.ts'
import type { RunningServer } from '../../lib/http/listener.ts'
import { bytesReply, sendBytes } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'
import type { InferenceService } from '../pipelines/inference-service.ts'
import { errorReply } from './error-status.ts'
import type { InferenceMetrics } from './metrics.ts'
import { readinessReply } from './readiness-reply.ts'

const CLOSE_DEADLINE_MS = 1000
const TEXT = 'text/plain; charset=utf-8'

export interface HealthServerOptions {
  readonly service: Pick<InferenceService, 'readiness'>
  readonly metrics: InferenceMetrics
  /** May be reachable from other machines: nothing here runs a model. */
  readonly host: string
  readonly port: number
  readonly clock: Clock
}

export async function startHealthServer(options: HealthServerOptions): Promise<RunningServer> {
  const { host, port, clock } = options
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    const { method = '', url = '' } = request
    void replyTo(method, url, options).then((reply) => sendBytes(response, reply))
  })
  return listen(server, { host, port, clock, closeDeadlineMs: CLOSE_DEADLINE_MS })
}

async function replyTo(
  method: string,
  url: string,
  { service, metrics }: HealthServerOptions,
): Promise<BytesReply> {
  if (method !== 'GET' && method !== 'HEAD') {
    const error = `${method} is not possible; this port allows GET, HEAD`
    return errorReply(url, { error, code: 'METHOD_NOT_ALLOWED' }, ['Allow', 'GET, HEAD'])
  }
  switch (url) {
    case '/healthz':
      return bytesReply(200, Buffer.from('ok'), ['Content-Type', TEXT])
    case '/readyz':
      return readinessReply(service.readiness())
    case '/metrics': {
      const text = Buffer.from(await metrics.text())
      return bytesReply(200, text, ['Content-Type', metrics.contentType()])
    }
    default: {
      const error = 'no such route; this port serves /healthz, /readyz and /metrics'
      return errorReply(url, { error, code: 'NOT_FOUND' })
    }
  }
}
