import { systemClock } from '../../../../lib/clock.ts'
import type { Violation } from '../../checkers/client-history.ts'
import type { ClusterLab } from '../cluster-lab.ts'
import type { LabAnswer, LabRequest } from '../lab-client.ts'

/** Three shards, and a first character of keys for each. */
export const THREE_SHARDS = { split_keys: ['h', 'p'] }
export const PREFIXES = ['a', 'k', 't'] as const

const RETRY_MS = 150

/** What a workload acts on. */
export interface WorkloadWorld {
  readonly lab: ClusterLab
  /** A table of its own, of three shards. */
  readonly table: string
}

/**
 * Clients of one kind, what they were told, and whether that can be true.
 *
 * - `step` is one operation of one client. It never rejects, whatever the cluster does.
 * - `readBack` reads everything once, when all faults are over. It repeats what fails.
 * - `violations` judges all that was seen so far.
 */
export interface Workload {
  readonly name: string
  readonly clients: number
  prepare(): Promise<void>
  step(client: number): Promise<void>
  readBack(): Promise<void>
  violations(): readonly Violation[]
  /** Acknowledged operations. */
  readonly acknowledged: number
  /** All operations, for the file of the history. */
  readonly operations: readonly unknown[]
}

export interface Settled {
  readonly kind: LabAnswer['kind']
  readonly text: string
}

/**
 * One operation of several attempts under one idempotency key. It failed only if no attempt can have had an
 * effect, also a late one.
 */
export async function settle(
  lab: ClusterLab,
  request: LabRequest & { readonly idempotencyKey: string },
  attempts: number,
): Promise<Settled> {
  let isUnknown = false
  let text = ''
  for (let attempt = 0; attempt < attempts; attempt++) {
    if (attempt > 0) await systemClock.sleep(RETRY_MS * attempt)
    const answer = await lab.ask(request)
    if (answer.kind === 'ok') return { kind: 'ok', text: answer.text }
    text = answer.kind === 'fail' ? answer.text : answer.why
    if (answer.kind === 'unknown') isUnknown = true
    else if (answer.code !== 'NOT_LEADER' && answer.code !== 'OVERLOADED') break
  }
  return { kind: isUnknown ? 'unknown' : 'fail', text }
}

const PATIENCE_MS = 60_000

/** Asks until it is answered; for the time when all faults are over. */
export async function insist(lab: ClusterLab, request: LabRequest): Promise<string> {
  const deadlineMs = systemClock.monotonicMs() + PATIENCE_MS
  for (;;) {
    const answer = await lab.ask(request)
    if (answer.kind === 'ok') return answer.text
    if (answer.kind === 'fail' && answer.code === 'ALREADY_EXISTS') return answer.text
    if (systemClock.monotonicMs() > deadlineMs) {
      throw new Error(`${request.path} was not answered: ${JSON.stringify(answer)}`)
    }
    await systemClock.sleep(RETRY_MS)
  }
}

export async function createTable({ lab, table }: WorkloadWorld): Promise<void> {
  const path = `/api/v1/tables/${table}`
  await insist(lab, { method: 'POST', path, body: THREE_SHARDS })
}

export function lookupOf(table: string, key: string): LabRequest {
  return { method: 'GET', path: `/api/v1/tables/${table}/lookup/${encodeURIComponent(key)}` }
}

/** The document, undefined if there is none; or that nothing is known. */
export function documentIn(answer: LabAnswer): { readonly document: unknown } | undefined {
  if (answer.kind === 'ok') return { document: JSON.parse(answer.text) }
  const isAbsent = answer.kind === 'fail' && answer.text.includes('no document')
  return isAbsent ? { document: undefined } : undefined
}

export function linesOf(text: string): readonly Readonly<Record<string, unknown>>[] {
  return text
    .split('\n')
    .slice(0, -1)
    .map((line): Readonly<Record<string, unknown>> => JSON.parse(line))
}
