// The store's API behind the door.

import { loadContract } from '../../../door/contract.ts'
import { buildDocsPage } from '../../../door/docs-page.ts'
import type { AccessPolicy } from '../../../door/principal.ts'
import type { OperationTable } from '../../../door/operation.ts'
import type { ContractProblem } from '../../../door/problems.ts'
import { startDoor, type DoorParts, type DoorSettings } from '../../../door/server.ts'
import { systemClock } from '../../../lib/clock.ts'
import type { Clock } from '../../../lib/clock.ts'
import type { RunningServer } from '../../../lib/http/listener.ts'
import { BODY_BYTES_MAX } from '../../../lib/http/request-body.ts'
import { RequestMemory, defaultRequestMemoryBytes } from '../../../lib/http/request-memory.ts'
import type { Log } from '../../../lib/log.ts'
import { machineMemoryBytes } from '../../../lib/machine-memory.ts'
import { LoopWatch } from '../../../lib/loop-watch.ts'
import type { ClusterService } from '../../steering/cluster-service.ts'
import type { NodeSettings } from '../../steering/node-settings.ts'
import type { StoreService } from '../../store/store-service.ts'
import { bodyBytesMaxOf } from '../body-limits.ts'
import type { ApiContext } from '../operation.ts'
import { OPERATIONS } from './handler-table.ts'
import { ApiMetrics } from '../metrics.ts'
import { TABLE_NAME_REFUSAL } from '../table-name.ts'

const WRITE_TIMEOUT_MS = 60_000
const CLOSE_DEADLINE_MS = 10_000

type Optional = 'clock' | 'insecure' | 'corsOrigins' | 'publicUrls' | 'logsRequests'
type DoorOptions = DoorSettings & DoorParts

/**
 * What the store's API is started with. An option that is left out has the default of a node that
 * listens on this machine alone.
 */
export interface ApiServerOptions extends StoreDoorOptions {
  readonly service: StoreService
  readonly cluster: ClusterService
  readonly settings: NodeSettings
}

/** What the handlers of every door of the store are given. */
export type DoorContext = Pick<ApiContext, 'contract' | 'docs' | 'clock'>

/** What a door of the store is started with, whatever its operations are. */
export interface StoreDoorOptions
  extends Omit<DoorOptions, Optional>, Partial<Pick<DoorOptions, Optional>> {
  /** Default true. False sends every request through express. */
  readonly hotDoor?: boolean
  readonly bodyBytesMax?: number
  /** The budget of all requests together, for their bodies and for large answers. */
  readonly requestMemoryBytes?: number
  readonly writeTimeoutMs?: number
  readonly closeDeadlineMs?: number
  /** Shared with the health server, which publishes it. */
  readonly metrics?: ApiMetrics
  /** Told what the event loop works for; by default nobody looks at it. */
  readonly loop?: LoopWatch
  readonly policy?: AccessPolicy
}

/** A watch that knows the operations of the contract. The caller starts and stops it. */
export function buildLoopWatch(clock: Clock, log: Log): LoopWatch {
  const names = loadContract('store.v1').operations.map(({ operationId }) => operationId)
  return new LoopWatch({ names, clock, log, cpuMs: threadCpuMs })
}

function threadCpuMs(): number {
  const { user, system } = process.threadCpuUsage()
  return (user + system) / 1000
}

export async function startApiServer(options: ApiServerOptions): Promise<RunningServer> {
  const { service, cluster, settings } = options
  return startStoreDoor(options, OPERATIONS, { service, cluster, settings })
}

/**
 * A door with the operations of the contract whose table and context are given. The context gets what belongs to every
 * door of the store.
 */
export async function startStoreDoor<Own extends object>(
  options: StoreDoorOptions,
  operations: OperationTable<Own & DoorContext>,
  own: Own,
): Promise<RunningServer> {
  const clock = options.clock ?? systemClock
  const contract = loadContract('store.v1')
  const docs = buildDocsPage({ title: 'Quarry store API', prefix: '/api/v1' })
  const bytesMax = options.requestMemoryBytes ?? defaultRequestMemoryBytes(machineMemoryBytes())
  const bodyBytesMax = options.bodyBytesMax ?? BODY_BYTES_MAX
  const memory = new RequestMemory({ bytesMax, clock })
  const metrics = options.metrics ?? new ApiMetrics()
  const loop = options.loop ?? buildLoopWatch(clock, options.log)
  addRequestMetrics(metrics, { memory, loop })
  const api = {
    contract,
    operations,
    context: { ...own, contract, docs, clock },
    docs,
    metrics: metrics.requests,
    memory,
    loop,
    bodyBytesMaxOf: (operationId: string) => bodyBytesMaxOf(operationId, bodyBytesMax),
    takePlace: undefined,
    requestTimeoutMs: undefined,
    writeTimeoutMs: options.writeTimeoutMs ?? WRITE_TIMEOUT_MS,
    closeDeadlineMs: options.closeDeadlineMs ?? CLOSE_DEADLINE_MS,
    errorShape: { retryAfterS: 1 },
    checks: { looseSchemas: { DocumentFilter: ANY_OBJECT }, explain },
    hotDoor: options.hotDoor ?? true,
    ...(options.policy === undefined ? {} : { policy: options.policy }),
    addLines: metrics.addLines.bind(metrics),
  }
  const defaults = { insecure: false, corsOrigins: [], publicUrls: [], logsRequests: () => false }
  return startDoor(api, { ...defaults, ...options }, { ...options, clock })
}

/**
 * The contract's check of a clause would try some two dozen forms and report a problem with each of
 * them. The parser of the query language reports the one problem and its place, so it checks clauses.
 */
const ANY_OBJECT = { type: 'object' }

function explain({ place, field }: ContractProblem): string | undefined {
  return place === 'params' && field === 'tableName' ? TABLE_NAME_REFUSAL : undefined
}

interface Requests {
  readonly memory: RequestMemory
  readonly loop: LoopWatch
}

function addRequestMetrics(metrics: ApiMetrics, { memory, loop }: Requests): void {
  metrics.addGauge(
    'quarry_http_requests_in_flight',
    'Requests that have begun and have no answer yet.',
    () => loop.underWay,
  )
  metrics.addGauge(
    'quarry_request_memory_bytes',
    'Bytes that running requests hold: bodies, what becomes of them, answers and scans.',
    () => memory.heldBytes,
  )
  metrics.addGauge(
    'quarry_request_memory_limit_bytes',
    'The limit of the bytes that all requests may hold.',
    () => memory.bytesMax,
  )
}
