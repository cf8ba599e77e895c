// The inference API behind the door.

import { loadContract } from '../../../door/contract.ts'
import { buildDocsPage } from '../../../door/docs-page.ts'
import type { AccessPolicy } from '../../../door/principal.ts'
import type { ContractProblem } from '../../../door/problems.ts'
import { startDoor, type DoorParts, type DoorSettings } from '../../../door/server.ts'
import type { RunningServer } from '../../../lib/http/listener.ts'
import type { RequestMemory } from '../../../lib/http/request-memory.ts'
import { ownCommand } from '../../../lib/own-command.ts'
import type { RequestGate } from '../../batching/request-gate.ts'
import type { InferenceService } from '../../service/inference-service.ts'
import { INVALID_INPUT } from '../embed-input.ts'
import { ERROR_SHAPE } from '../error-shape.ts'
import { OPERATIONS } from './handler-table.ts'
import type { InferenceMetrics } from '../metrics.ts'

const WRITE_TIMEOUT_MS = 30_000

/**
 * What the inference API is started with. A request that runs longer than `requestTimeoutMs` is
 * aborted.
 */
export interface ApiServerOptions extends DoorSettings, DoorParts, DoorChoices {
  readonly service: InferenceService
  readonly bodyBytesMax: number
  readonly requestTimeoutMs: number
  /** How long running requests may take to end once the server closes. */
  readonly closeDeadlineMs: number
  readonly gate: RequestGate
  /** The budget for the bodies of all requests and for the values that are parsed from them. */
  readonly memory: RequestMemory
  readonly metrics: InferenceMetrics
}

/** Choices that only tests make so far. */
export interface DoorChoices {
  readonly policy?: AccessPolicy
  /** Default true. False sends every request through express. */
  readonly hotDoor?: boolean
}

export function startApiServer(options: ApiServerOptions): Promise<RunningServer> {
  const { service, clock, random, metrics, gate, bodyBytesMax } = options
  const contract = loadContract('inference.v1')
  const docs = buildDocsPage({ title: 'Quarry inference API', prefix: '/api' })
  const api = {
    ...options,
    contract,
    operations: OPERATIONS,
    context: { service, contract, docs, clock, random },
    docs,
    absent: ABSENT,
    metrics: metrics.requests,
    loop: undefined,
    bodyBytesMaxOf: () => bodyBytesMax,
    takePlace: gate.enter.bind(gate),
    writeTimeoutMs: WRITE_TIMEOUT_MS,
    errorShape: ERROR_SHAPE,
    checks: { explain },
    addLines: metrics.addLines.bind(metrics),
  }
  return startDoor(api, options, options)
}

const MODELS_ARE_FOLDERS =
  `models are folders that are found at the start: get one with "${ownCommand('models pull OWNER/NAME')}", see them with ` +
  `"${ownCommand('models list')}", drop one with "${ownCommand('models rm')}", and start the server again`

const ONE_CHAT =
  'this server completes chats: POST /v1/chat/completions, or /api/generate with a prompt'

/** What clients of Ollama and of OpenAI ask for, and this server does not have. */
const ABSENT: ReadonlyMap<string, string> = new Map([
  ...['pull', 'push', 'create', 'copy', 'delete'].map((name): [string, string] => [
    `/api/${name}`,
    MODELS_ARE_FOLDERS,
  ]),
  ['/v1/completions', ONE_CHAT],
  ['/v1/responses', ONE_CHAT],
])

const OF_INPUT = /^input(?:[.[]|$)/

/** `input` has three shapes. The problem with the first shape alone would mislead the client. */
function explain({ field, keyword, text }: ContractProblem): string | undefined {
  const isLimit = keyword === 'maxItems' || text.startsWith('must NOT have more')
  return OF_INPUT.test(field) && keyword !== 'required' && !isLimit ? INVALID_INPUT : undefined
}
