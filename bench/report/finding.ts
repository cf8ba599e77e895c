// What a row found out, and whether that meets its goal.

import { assert, must } from '../../lib/assert.ts'
import { spreadOf } from './statistics.ts'
import type { Spread } from './statistics.ts'

export interface Goal {
  readonly kind: 'at-least' | 'at-most' | 'below'
  readonly value: number
}

/** Ours against a peer, measured in turns: `ours[i]` and `peer[i]` ran one after the other. */
export interface RatioFinding {
  readonly kind: 'ratio'
  readonly label: string
  readonly unit: string
  readonly peerName: string
  readonly ours: readonly number[]
  readonly peer: readonly number[]
  /** For the ratio ours / peer. */
  readonly goal?: Goal
}

export interface ValueFinding {
  readonly kind: 'value'
  readonly label: string
  readonly unit: string
  readonly ours: readonly number[]
  readonly goal?: Goal
}

export type Finding = RatioFinding | ValueFinding

export interface LatencyFinding {
  readonly label: string
  readonly side: string
  readonly clients: number
  /** One per run. */
  readonly p50Ms: readonly number[]
  readonly p95Ms: readonly number[]
  readonly p99Ms: readonly number[]
}

export interface RowResult {
  readonly findings: readonly Finding[]
  readonly latencies?: readonly LatencyFinding[]
  readonly notes?: readonly string[]
}

export type Verdict = 'met' | 'missed' | 'no goal'

export interface Judgement {
  readonly ours: Spread
  readonly peer: Spread | undefined
  /** Of the ratios of the pairs, not the ratio of the medians. */
  readonly ratio: Spread | undefined
  readonly verdict: Verdict
}

export function judge(finding: Finding): Judgement {
  const ours = spreadOf(finding.ours)
  if (finding.kind === 'value') {
    return { ours, peer: undefined, ratio: undefined, verdict: verdictOf(ours, finding.goal) }
  }
  const ratio = spreadOf(ratiosOf(finding))
  return { ours, peer: spreadOf(finding.peer), ratio, verdict: verdictOf(ratio, finding.goal) }
}

function ratiosOf({ ours, peer, label }: RatioFinding): readonly number[] {
  assert(ours.length === peer.length, `${label}: every run of ours has one of the peer`)
  return ours.map((value, run) => value / must(peer[run], 'run of the peer'))
}

function verdictOf({ median }: Spread, goal: Goal | undefined): Verdict {
  if (goal === undefined) return 'no goal'
  return isMet[goal.kind](median, goal.value) ? 'met' : 'missed'
}

const isMet: Record<Goal['kind'], (value: number, limit: number) => boolean> = {
  'at-least': (value, limit) => value >= limit,
  'at-most': (value, limit) => value <= limit,
  below: (value, limit) => value < limit,
}
