// Finds the likeliest continuations. At every step it keeps the best few, the beams.
//
//   score of a finished text = sum of its log-probabilities / number of its tokens
//
// This equals the Transformers library with a length penalty of 1. A search with one beam is greedy:
// it takes the likeliest token at every step and ends at the first end token.
//
// Invariants:
//   BS1  At most `beamCount` beams run, the best first. Of equal scores, the earlier beam comes first,
//        then the lower token id.
//   BS2  The best `beamCount` finished texts are kept.
//   BS3  The search ends when no running beam can beat the worst kept text, or at `tokensMax`.

import { ServiceError } from '../../../lib/errors.ts'
import { largestIndexes } from '../largest-indexes.ts'
import { NOT_NUMBERS } from '../probabilities.ts'

/** A model that continues several texts at once. A state belongs to the search and is not changed. */
export interface BeamModel<State> {
  /** The logits of the first token, in one row. */
  start(): Promise<BeamStep<State>>
  /** Row i continues row `parents[i]` of the state by `tokens[i]`. */
  step(
    state: State,
    parents: readonly number[],
    tokens: readonly number[],
  ): Promise<BeamStep<State>>
}

/** The state after a step, and one row of next-token logits for each text. */
export interface BeamStep<State> {
  readonly state: State
  readonly logits: readonly Float32Array[]
}

/** The limits of one search. */
export interface BeamSettings {
  readonly beamCount: number
  /** The most tokens of a text, without the end token. */
  readonly tokensMax: number
  readonly eosIds: readonly number[]
}

/** A finished text. */
export interface BeamText {
  /** Its tokens without the end token. */
  readonly ids: readonly number[]
  /** The mean log-probability of its tokens, the end token included. */
  readonly score: number
}

interface Beam {
  readonly ids: readonly number[]
  readonly sum: number
}

interface Candidate {
  readonly parent: number
  readonly id: number
  readonly sum: number
}

/** The best texts, the best first. After `signal` aborts, it rejects before the model's next step. */
export async function searchBeams<State>(
  model: BeamModel<State>,
  settings: BeamSettings,
  signal: AbortSignal,
): Promise<BeamText[]> {
  const finished: BeamText[] = []
  let beams: readonly Beam[] = [{ ids: [], sum: 0 }]
  signal.throwIfAborted()
  let current = await model.start()
  for (;;) {
    const candidates = bestCandidates(beams, current.logits, settings.beamCount)
    if (candidates.length === 0) throw new ServiceError('INFERENCE_FAILED', NOT_NUMBERS)
    const { running, ended } = splitByEnd(candidates, beams, settings)
    keepBest(finished, ended, settings.beamCount)
    beams = running.map((candidate) => extend(beams, candidate))
    const length = beams[0]?.ids.length ?? 0
    if (beams.length === 0 || length === settings.tokensMax) break
    if (isDecided(beams, finished, settings.beamCount)) return finished
    const parents = running.map(({ parent }) => parent)
    signal.throwIfAborted()
    current = await model.step(
      current.state,
      parents,
      running.map(({ id }) => id),
    )
  }
  keepBest(finished, beams.map(finish), settings.beamCount)
  return finished
}

/** Twice as many candidates as beams, so that enough remain when half of them end. */
function bestCandidates(
  beams: readonly Beam[],
  logits: readonly Float32Array[],
  beamCount: number,
): Candidate[] {
  const count = beamCount === 1 ? 1 : 2 * beamCount
  return beams
    .flatMap(({ sum }, parent) => {
      const row = logits[parent] ?? new Float32Array()
      const total = logSumExp(row)
      return largestIndexes(row, count).map((id): Candidate => {
        return { parent, id, sum: sum + (row[id] ?? -Infinity) - total }
      })
    })
    .filter((candidate) => !Number.isNaN(candidate.sum))
    .toSorted(
      (left, right) => right.sum - left.sum || left.parent - right.parent || left.id - right.id,
    )
    .slice(0, count)
}

function logSumExp(values: Float32Array): number {
  const largest = values.reduce((most, value) => (value > most ? value : most), -Infinity)
  let sum = 0
  for (const value of values) if (value > -Infinity) sum += Math.exp(value - largest)
  return largest + Math.log(sum)
}

/** An end token counts only among the best `beamCount` candidates. */
function splitByEnd(
  candidates: readonly Candidate[],
  beams: readonly Beam[],
  { beamCount, eosIds }: BeamSettings,
): { running: Candidate[]; ended: BeamText[] } {
  const isEnd = ({ id }: Candidate): boolean => eosIds.includes(id)
  const ended = candidates
    .slice(0, beamCount)
    .filter(isEnd)
    .map(({ parent, sum }): BeamText => {
      const ids = beams[parent]?.ids ?? []
      return { ids, score: sum / (ids.length + 1) }
    })
  const running = candidates.filter((candidate) => !isEnd(candidate)).slice(0, beamCount)
  return { running, ended }
}

function extend(beams: readonly Beam[], { parent, id, sum }: Candidate): Beam {
  return { ids: [...(beams[parent]?.ids ?? []), id], sum }
}

function finish({ ids, sum }: Beam): BeamText {
  return { ids, score: sum / Math.max(1, ids.length) }
}

function keepBest(finished: BeamText[], added: readonly BeamText[], count: number): void {
  finished.push(...added)
  finished.sort((left, right) => right.score - left.score)
  finished.length = Math.min(finished.length, count)
}

function isDecided(
  beams: readonly Beam[],
  finished: readonly BeamText[],
  beamCount: number,
): boolean {
  const [best] = beams
  const worst = finished.at(-1)
  if (finished.length < beamCount || best === undefined || worst === undefined) return false
  return worst.score >= finish(best).score
}
