// The health port: for the machinery around a server, never for its clients.

import { createServer } from 'node:http'
import type { Clock } from '../clock.ts'
import type { ErrorCode } from '../errors.ts'
import { statusByErrorCode } from './error-status.ts'
import { LOOPBACK, SERVER_OPTIONS, listen } from './listener.ts'
import type { RunningServer } from './listener.ts'
import {
  HOST_REFUSALS,
  hostsOf,
  LOCAL_NAMES,
  nameOfHost,
  namesAnotherHost,
} from './request-host.ts'
import { bytesReply, jsonReply, sendBytes, textReply } from './reply.ts'
import type { BytesReply } from './reply.ts'
import type { Random } from '../random.ts'
import { nameRequest, RequestIds } from './request-id.ts'

const CLOSE_DEADLINE_MS = 1000
/** Probes and collectors of metrics are few. */
const CONNECTIONS_MAX = 256

/** What can be measured, as text for Prometheus. */
export interface MetricsText {
  contentType(): string
  text(): Promise<string>
}

/** What runs: the answer of `/version`. */
export interface RunningVersion {
  readonly version: string
  readonly gitCommit?: string | undefined
}

/** What the server for health, readiness, metrics and the version is started with. On loopback it takes no foreign name for this machine. */
export interface HealthServerOptions {
  /** May be reachable from other machines: nothing here shows or changes what clients have. */
  readonly host: string
  /** 0 lets the system choose; the answer's `url` says which. */
  readonly port: number
  readonly clock: Clock
  readonly random: Random
  /** What `/healthz` answers. Without it, a server that answers is well. */
  readonly liveness?: () => BytesReply
  /** What `/readyz` answers: status 200 as long as requests are welcome. */
  readonly readiness: () => BytesReply
  readonly metrics: MetricsText
  readonly product: RunningVersion
}

export async function startHealthServer(options: HealthServerOptions): Promise<RunningServer> {
  const { host, port, clock } = options
  const ids = new RequestIds(options.random)
  const isLocal = LOOPBACK.has(host)
  const server = createServer(SERVER_OPTIONS, (request, response) => {
    const { method = '', url = '', rawHeaders } = request
    nameRequest(response, ids.of(rawHeaders))
    const refusal = hostRefusal(rawHeaders, { url, isLocal })
    if (refusal !== undefined) return sendBytes(response, refusal)
    void replyTo(method, url, options).then((reply) => sendBytes(response, reply))
  })
  return listen(server, {
    host,
    port,
    clock,
    closeDeadlineMs: CLOSE_DEADLINE_MS,
    ids,
    connectionsMax: CONNECTIONS_MAX,
  })
}

/** A name of somebody else that points here (DNS rebinding) would let a page of that name read the metrics. */
function hostRefusal(
  rawHeaders: readonly string[],
  { url, isLocal }: { readonly url: string; readonly isLocal: boolean },
): BytesReply | undefined {
  const [host = '', ...others] = hostsOf(rawHeaders)
  if (others.length > 0) return errorReply('INVALID_ARGUMENT', HOST_REFUSALS.several)
  if (namesAnotherHost(url, host)) return errorReply('INVALID_ARGUMENT', HOST_REFUSALS.another)
  if (!isLocal || host === '' || LOCAL_NAMES.has(nameOfHost(host))) return undefined
  return errorReply('FORBIDDEN', 'this port serves its own machine: use 127.0.0.1 or localhost')
}

async function replyTo(
  method: string,
  url: string,
  { liveness, readiness, metrics, product }: HealthServerOptions,
): Promise<BytesReply> {
  if (method !== 'GET' && method !== 'HEAD') {
    const error = `${method} is not possible; this port allows GET, HEAD`
    return errorReply('METHOD_NOT_ALLOWED', error, ['Allow', 'GET, HEAD'])
  }
  switch (url) {
    case '/healthz':
      return liveness?.() ?? textReply(200, 'ok')
    case '/readyz':
      return readiness()
    case '/version':
      return versionReply(product)
    case '/metrics': {
      const text = Buffer.from(await metrics.text())
      return bytesReply(200, text, ['Content-Type', metrics.contentType()])
    }
    default:
      return errorReply(
        'NOT_FOUND',
        'no such route; this port serves /healthz, /readyz, /version and /metrics',
      )
  }
}

function versionReply({ version, gitCommit }: RunningVersion): BytesReply {
  const commit = gitCommit === undefined ? {} : { git_commit: gitCommit }
  return jsonReply(200, { version, ...commit, runtime_version: process.version })
}

function errorReply(code: ErrorCode, error: string, headers: readonly string[] = []): BytesReply {
  return jsonReply(statusByErrorCode[code], { error, code }, headers)
}
