// A server of one contract: all ways through the door on one listener.

import { createServer, type IncomingMessage } from 'node:http'
import express, { type Express } from 'express'
import { must, type InvariantError } from '../lib/assert.ts'
import type { Clock } from '../lib/clock.ts'
import { ErrorTranslator } from '../lib/http/error-translator.ts'
import { checkHost, listen, LOOPBACK, SERVER_OPTIONS } from '../lib/http/listener.ts'
import type { RunningServer } from '../lib/http/listener.ts'
import { PlainConnections } from '../lib/http/plain-connections.ts'
import { sendBytes } from '../lib/http/reply.ts'
import { RequestIds, requestIdOf } from '../lib/http/request-id.ts'
import type { Log } from '../lib/log.ts'
import { familyLines, samplesBy, type MetricSource } from '../lib/metrics.ts'
import type { Random } from '../lib/random.ts'
import { buildCheck, type Check, type CheckOptions } from './checks.ts'
import { buildEntry } from './entry.ts'
import type { OnAnswered } from './exchange.ts'
import { buildApp, type DoorOptions } from './front-door.ts'
import { buildHotDoor, type Judge } from './hot-door.ts'
import { buildOriginPolicy } from './origins.ts'
import { buildPlainDoor } from './plain-door.ts'
import { ALLOW_ALL, type AccessPolicy } from './principal.ts'
import { ErrorReplies, type ErrorShape } from './replies.ts'
import { NO_OPERATION } from './request-metrics.ts'

/** The settings of a door that the operator chooses. */
export interface DoorSettings {
  readonly host: string
  /** 0 lets the system choose; the answer's `url` says which. */
  readonly port: number
  /** Allows a host that other machines can reach, although nobody has to authenticate. */
  readonly insecure: boolean
  /** See `OriginOptions`. */
  readonly corsOrigins: readonly string[]
  readonly publicUrls: readonly string[]
  /** Whether the log tells of every answer, at level debug. */
  readonly logsRequests: () => boolean
  /** See `ListenOptions`. */
  readonly connectionsMax?: number | undefined
}

/** The parts that a server takes from its process. */
export interface DoorParts {
  readonly clock: Clock
  readonly log: Log
  readonly random: Random
  /** Called once a reply to the broken request is on its way; the process must end. */
  readonly onInvariantBroken: (error: InvariantError) => void
}

type FromServer = 'translator' | 'errors' | 'policy' | 'onAnswered' | 'clock' | 'check'

/** The parts that differ between the two APIs, beside the contract. */
export interface DoorApi<Context> extends Omit<DoorOptions<Context>, FromServer> {
  /** The words and exceptions of this API; the door adds the rest. */
  readonly checks: Omit<CheckOptions, 'byteParsed' | 'docs'>
  readonly errorShape: ErrorShape
  /** Default: everybody may do everything. */
  readonly policy?: AccessPolicy
  /** Default true. False sends every request through node:http and express. */
  readonly hotDoor?: boolean
  readonly closeDeadlineMs: number
  addLines(source: MetricSource): void
}

/** Refuses a host that other machines can reach (INVALID_ARGUMENT), unless the settings insist. */
export async function startDoor<Context>(
  api: DoorApi<Context>,
  settings: DoorSettings,
  { clock, log, random, onInvariantBroken }: DoorParts,
): Promise<RunningServer> {
  const { host, port, corsOrigins, publicUrls, connectionsMax } = settings
  checkHost(host, settings.insecure)
  const translator = new ErrorTranslator({ log, clock, onInvariantBroken })
  api.addLines(() => errorLines(api.metrics.prefix, translator))
  const errors = new ErrorReplies(api.errorShape)
  const check = checkOf(api)
  const onAnswered = requestLog(log, settings.logsRequests)
  const policy = api.policy ?? ALLOW_ALL
  const options = { ...api, clock, translator, errors, check, onAnswered, policy }
  const app = buildApp(options)
  const hotDoor = (api.hotDoor ?? true) ? buildHotDoor(options, buildJudge(check)) : () => false
  const ids = new RequestIds(random)
  const origins = buildOriginPolicy({ loopbackOnly: LOOPBACK.has(host), corsOrigins, publicUrls })
  const entry = buildEntry({
    ids,
    origins,
    refuse: (response, refusal) => {
      const failed = { requestId: requestIdOf(response), operation: NO_OPERATION }
      sendBytes(response, errors.of(response.req.url ?? '', translator.bodyOf(refusal, failed)))
    },
    serve: (request, response) => {
      if (!hotDoor(request, response)) app(request, response)
    },
  })
  const server = createServer(SERVER_OPTIONS, entry)
  const { closeDeadlineMs } = api
  const servePlain = (api.hotDoor ?? true) ? buildPlainDoor(options, { ids, origins }) : undefined
  const plain = servePlain && new PlainConnections(server, { serve: servePlain, clock })
  return listen(server, { host, port, clock, closeDeadlineMs, ids, connectionsMax, plain })
}

function checkOf<Context>({ contract, operations, checks, docs }: DoorApi<Context>): Check {
  const rows = Object.entries(operations)
  const byteParsed = new Set(rows.filter(([, { body }]) => body !== 'json').map(([id]) => id))
  return buildCheck(contract, { ...checks, byteParsed, docs: docs.route })
}

/** The check of express for a request that did not come through it. */
function buildJudge(check: Check): Judge {
  interface Case {
    readonly json: unknown
    readonly resolve: (checking: Promise<void>) => void
  }
  const cases = new WeakMap<IncomingMessage, Case>()
  const app: Express = express()
  app.disable('x-powered-by')
  app.use((request, response) => {
    const { json, resolve } = must(cases.get(request), 'the case of a judged request')
    resolve(check({ request, response, json }))
  })
  return ({ request, response }, json) =>
    new Promise((resolve) => {
      cases.set(request, { json, resolve })
      app(request, response)
    })
}

function errorLines(prefix: string, translator: ErrorTranslator): readonly string[] {
  return familyLines({
    name: `${prefix}errors_total`,
    type: 'counter',
    help: 'Requests that ended with an error, by code; unknown routes and absent documents do not count.',
    samples: samplesBy('code', translator.counts()),
  })
}

/** Without the URL, which may hold keys of documents and what somebody looks for. */
function requestLog(log: Log, logsRequests: () => boolean): OnAnswered {
  return ({ call: { method, requestId }, operation, status, elapsedMs }) => {
    if (!logsRequests()) return
    const ms = Math.round(elapsedMs * 1000) / 1000
    log.debug('request answered', { requestId, operation, method, status, ms })
  }
}
