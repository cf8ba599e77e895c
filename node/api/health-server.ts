// The health port: for the machinery around us, never for clients. Port 4200 unless configured.

import { createServer } from 'node:http'
import { systemClock } from '../../lib/clock.ts'
import type { Clock } from '../../lib/clock.ts'
import type { StoreService } from '../coordinator/store-service.ts'
import { errorReply } from './error-status.ts'
import type { ApiMetrics } from './metrics.ts'
import { SERVER_OPTIONS, listen } from '../../lib/http/listener.ts'
import type { RunningServer } from '../../lib/http/listener.ts'
import { bytesReply, sendBytes } from '../../lib/http/reply.ts'
import type { BytesReply } from '../../lib/http/reply.ts'

const CLOSE_DEADLINE_MS = 1000
const TEXT = 'text/plain; charset=utf-8'

export interface HealthServerOptions {
  readonly service: Pick<StoreService, 'ready'>
  readonly metrics: ApiMetrics
  /** May be reachable from other machines: nothing here shows or changes documents. */
  readonly host: string
  readonly port: number
  readonly clock?: Clock
}

export async function startHealthServer(options: HealthServerOptions): Promise<RunningServer> {
  const { host, port, clock = systemClock } = options
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
    return errorReply({ error, code: 'METHOD_NOT_ALLOWED' }, ['Allow', 'GET, HEAD'])
  }
  switch (url) {
    case '/healthz':
      return textReply(200, 'ok')
    case '/readyz':
      return service.ready() ? textReply(200, 'ok') : textReply(503, 'not ready')
    case '/metrics':
      return bytesReply(200, Buffer.from(await metrics.text()), [
        'Content-Type',
        metrics.contentType(),
      ])
    default: {
      const error = 'no such route; this port serves /healthz, /readyz and /metrics'
      return errorReply({ error, code: 'NOT_FOUND' })
    }
  }
}

function textReply(status: number, text: string): BytesReply {
  return bytesReply(status, Buffer.from(text), ['Content-Type', TEXT])
}
