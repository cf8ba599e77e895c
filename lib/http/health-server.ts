// The health port: for the machinery around a server, never for its clients.

import { createServer } from 'node:http'
import type { Clock } from '../clock.ts'
import type { ErrorCode } from '../errors.ts'
import { statusByErrorCode } from './error-status.ts'
import { SERVER_OPTIONS, listen } from './listener.ts'
import type { RunningServer } from './listener.ts'
import { bytesReply, jsonReply, sendBytes, textReply } from './reply.ts'
import type { BytesReply } from './reply.ts'
import type { Random } from '../random.ts'
import { nameRequest, RequestIds } from './request-id.ts'

const CLOSE_DEADLINE_MS = 1000

/** What can be measured, as text for Prometheus. */
export interface MetricsText {
  contentType(): string
  text(): Promise<string>
}

/** What the server for health, readiness and metrics is started with. It has no access checks. */
export interface HealthServerOptions {
  /** May be reachable from other machines: nothing here shows or changes what clients have. */
  readonly host: string
  /** 0 lets the system choose; the answer's `url` says which. */
  readonly port: number
  readonly clock: Clock
  readonly random: Random
  /** What `/readyz` answers: status 200 as long as requests are welcome. */
  readonly readiness: () => BytesReply
  readonly metrics: MetricsText
}

export async function startHealthServer(options: HealthServerOptions): Promise<RunningServer> {
  const { host, port, clock } = options
  const ids = new RequestIds(options.random)
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    const { method = '', url = '', rawHeaders } = request
    nameRequest(response, ids.of(rawHeaders))
    void replyTo(method, url, options).then((reply) => sendBytes(response, reply))
  })
  return listen(server, { host, port, clock, closeDeadlineMs: CLOSE_DEADLINE_MS, ids })
}

async function replyTo(
  method: string,
  url: string,
  { readiness, metrics }: HealthServerOptions,
): Promise<BytesReply> {
  if (method !== 'GET' && method !== 'HEAD') {
    const error = `${method} is not possible; this port allows GET, HEAD`
    return errorReply('METHOD_NOT_ALLOWED', error, ['Allow', 'GET, HEAD'])
  }
  switch (url) {
    case '/healthz':
      return textReply(200, 'ok')
    case '/readyz':
      return readiness()
    case '/metrics': {
      const text = Buffer.from(await metrics.text())
      return bytesReply(200, text, ['Content-Type', metrics.contentType()])
    }
    default:
      return errorReply(
        'NOT_FOUND',
        'no such route; this port serves /healthz, /readyz and /metrics',
      )
  }
}

function errorReply(code: ErrorCode, error: string, headers: readonly string[] = []): BytesReply {
  return jsonReply(statusByErrorCode[code], { error, code }, headers)
}
