// The controller of a cluster as a pure state machine: observations in, planned changes out. It knows no
// clock and no coordination store. Its shell watches the store, commits what is planned, and tells the
// outcome; whatever was missed is observed again, because decisions look at the state and not at events.
//
// Invariants:
//   CC1  Each change compares the revisions of all that it was decided on, and the controller's own key: a
//        controller that was deposed changes nothing.
//   CC2  A shard has at most one change without an outcome.
//   CC3  In any second there are at most `changesPerSecond + changeBurst` commits. Elections of one plan share
//        commits (`planned-commit.ts`); every other change has one of its own.
//   CC4  Nothing is planned before the store was listed once, nor after its revision went back.

import type { NodeId } from '../../replication/core/configuration.ts'
import type { CommitOutcome, Condition } from '../../coordination/coordination.ts'
import { balanceLeaders } from './decisions/balance-leaders.ts'
import { balanceReplicas } from './decisions/balance-replicas.ts'
import { ChangeBudget } from './change-budget.ts'
import { ClusterView } from './view/cluster-view.ts'
import { decide } from './decisions/decide.ts'
import type { ShardPath } from './records/cluster-codec.ts'
import { observe, type Observation } from './view/observation.ts'
import { plannedChange, recordsAfter, type PlannedChange } from './planned-change.ts'
import { changesInConflict, commitOf, SharedCommit, type PlannedCommit } from './planned-commit.ts'
import { StepQueue } from './step-queue.ts'
import { CONTROLLER_SETTINGS, type ControllerSettings } from './view/controller-settings.ts'
import type { PlannedRecords, ShardView } from './view/shard-view.ts'
import { isStep, type Step, type Urgency } from './decisions/step.ts'

/** How a commit ended. A conflict's entries are observed before it is told. */
export type ChangeOutcome =
  | CommitOutcome
  /** It may have happened; what is observed later decides. */
  | { readonly kind: 'unknown' }

/** A question where the log of a replica ends. The answer is observed with its round. */
export interface AskedEnd {
  readonly path: ShardPath
  readonly round: number
}

/** What a controller begins with. */
export interface ControllerStart {
  /** Unique among all controllers that ever were; operations are named after it. */
  readonly name: string
  /** Its own key: holds as long as it is the elected one. */
  readonly fence: Condition
  readonly settings?: ControllerSettings
}

/** Shards of one urgency that are looked at in one plan. */
const TRIES_MAX = 256

/** After a search that found nothing to balance: such a search looks at the most. */
const BALANCE_PAUSE_MS = 1000

/** Starts of moves, which wait while the cluster has as many as it may. */
const MOVE_STARTS: ReadonlySet<Urgency> = new Set<Urgency>(['repair', 'drain', 'spread'])

/**
 * Decides what is changed in a cluster.
 *
 * Contract:
 * - `observe` takes the entries of the store in the order of their revisions, as a listing and the watch
 *   after it give them. Older ones than the known are ignored.
 * - `listed` says that everything there is was observed. Before that `plan` answers nothing.
 * - `plan` answers the commits to make now, the most urgent first. Each has to be told to `settle`; one that
 *   is never told counts as unknown after a while.
 * - After a conflict, only the shards whose own conditions do not hold any more are left alone for a while; those
 *   that shared the commit are planned again at once.
 * - `takeAsks` answers which replicas the last plan wants to know more of; `observe` takes what they answer. One that
 *   does not answer is wanted again by a later plan.
 * - From any state, with no new observations but of its own changes and of what replicas do, the plan is empty
 *   after a bounded number of rounds.
 * - Times are of one monotonic clock.
 */
export class ControllerCore {
  readonly cluster: ClusterView
  readonly #start: ControllerStart
  readonly #queue = new StepQueue()
  readonly #inFlight = new Map<string, ShardView>()
  /** The commits without an outcome, by the operation of their first change. */
  readonly #commits = new Set<string>()
  readonly #paused = new Set<ShardView>()
  readonly #asks = new Map<ShardPath, readonly NodeId[]>()
  readonly #budget: ChangeBudget
  readonly #balanceBudget: ChangeBudget
  /** The version of the view in which nothing was found to balance. */
  #restedAt: number | undefined
  #balanceAgainMs = 0
  #operations = 0
  #listedRevision: number | undefined
  #frozen: string | undefined

  constructor(start: ControllerStart) {
    const settings = start.settings ?? CONTROLLER_SETTINGS
    this.#start = start
    this.cluster = new ClusterView(settings)
    this.#budget = new ChangeBudget(settings.changesPerSecond, settings.changeBurst)
    this.#balanceBudget = new ChangeBudget(settings.balanceChangesPerSecond, settings.changeBurst)
  }

  /** Why nothing is planned although the store was listed. */
  get frozen(): string | undefined {
    return this.#frozen
  }

  observe(observation: Observation, nowMs: number): void {
    const shard = observe(this.cluster, observation, nowMs)
    if (shard === undefined) return
    shard.pausedUntilMs = 0
    const { planned, known } = shard
    if (planned === undefined || known.configuration?.operation !== planned.operation) return
    this.#committed(shard, known.configuration.revision, nowMs)
  }

  /** CC4. A revision that went back means that the store was restored from a copy. */
  listed(revision: number): void {
    const before = this.#listedRevision
    this.#listedRevision = revision
    if (before === undefined || revision >= before) return
    this.#frozen = `the coordination store went back from revision ${before} to ${revision}`
  }

  plan(nowMs: number): readonly PlannedCommit[] {
    if (this.#listedRevision === undefined || this.#frozen !== undefined) return []
    this.#budget.advance(nowMs)
    this.#balanceBudget.advance(nowMs)
    this.#forgetSilent(nowMs)
    this.cluster.assessNodes(nowMs)
    for (const shard of this.cluster.takeTouched()) this.#queue.put(shard, this.cluster)
    const commits: PlannedCommit[] = []
    this.#planUrgent(commits, nowMs)
    this.#planBalance(commits, nowMs)
    return commits
  }

  settle(planned: PlannedCommit, outcome: ChangeOutcome, nowMs: number): void {
    if (outcome.kind === 'unknown') return
    const met = outcome.kind === 'conflict' && changesInConflict(planned, outcome.entries)
    for (const change of planned.changes) {
      const shard = this.#inFlight.get(change.operation)
      if (shard?.planned?.operation !== change.operation) continue
      if (outcome.kind === 'committed') {
        this.#committed(shard, outcome.revision, nowMs)
        continue
      }
      this.#dropPlanned(shard, nowMs)
      if (met && met.has(change)) this.#pause(shard, nowMs)
    }
  }

  /** The replicas of shards without a leader that have to be asked where their logs end, by node. */
  takeAsks(): ReadonlyMap<NodeId, readonly AskedEnd[]> {
    const byNode = new Map<NodeId, AskedEnd[]>()
    for (const [path, nodes] of this.#asks) {
      const round = this.cluster.shard(path).endsRound
      for (const node of nodes) {
        const asked = byNode.get(node) ?? []
        byNode.set(node, asked)
        asked.push({ path, round })
      }
    }
    this.#asks.clear()
    return byNode
  }

  /** A step that somebody else decided on, as a change of this controller. */
  change(step: Step, nowMs: number): PlannedCommit {
    const planned = commitOf(this.#planned(step, nowMs))
    this.#began(planned)
    return planned
  }

  get #isFull(): boolean {
    return this.#budget.isEmpty || this.#commits.size >= this.cluster.settings.inFlightMax
  }

  #planUrgent(commits: PlannedCommit[], nowMs: number): void {
    const { movesMax } = this.cluster.settings
    for (const [urgency, shards] of this.#queue.buckets) {
      // Those that have to wait are put last, and are not tried twice in one plan.
      let tries = Math.min(shards.size, TRIES_MAX)
      for (const shard of shards) {
        if (this.#isFull) return
        if (tries === 0 || (MOVE_STARTS.has(urgency) && this.cluster.moves >= movesMax)) break
        tries -= 1
        if (shard.pausedUntilMs <= nowMs) this.#planShard(shard, commits, nowMs)
      }
    }
  }

  #planShard(shard: ShardView, commits: PlannedCommit[], nowMs: number): void {
    const decision = decide(shard, this.cluster)
    if (decision !== undefined && !isStep(decision)) {
      shard.waits = decision.waits
      if (decision.ask !== undefined) this.#asks.set(shard.path, decision.ask)
      return this.#queue.putLast(shard)
    }
    this.#queue.remove(shard)
    if (decision === undefined) return
    const change = this.#planned(decision, nowMs)
    const last = commits.at(-1)
    if (decision.kind === 'elect' && last instanceof SharedCommit && last.add(change)) return
    this.#budget.take()
    const commit = decision.kind === 'elect' ? new SharedCommit(change) : commitOf(change)
    this.#began(commit)
    commits.push(commit)
  }

  /** Only what is left of the budget. */
  #planBalance(commits: PlannedCommit[], nowMs: number): void {
    if (nowMs < this.#balanceAgainMs) return
    while (!this.#isFull && !this.#balanceBudget.isEmpty) {
      if (this.#restedAt === this.cluster.version) return
      const steps = this.#nextBalance()
      if (steps.length === 0) {
        this.#restedAt = this.cluster.version
        this.#balanceAgainMs = nowMs + BALANCE_PAUSE_MS
        return
      }
      for (const step of steps) {
        if (this.#isFull) return
        this.#budget.take()
        this.#balanceBudget.take()
        commits.push(this.change(step, nowMs))
      }
      // A search for a move may look at every shard, so a plan has one such search.
      if (steps[0]?.kind === 'balance_replicas') return
    }
  }

  #nextBalance(): readonly Step[] {
    const move = balanceReplicas(this.cluster)
    return move === undefined ? balanceLeaders(this.cluster) : [move]
  }

  #planned(step: Step, nowMs: number): PlannedChange {
    this.#operations += 1
    const operation = `${this.#start.name}/${this.#operations}`
    const { shard } = step
    const planned = plannedChange(step, operation, this.#start.fence)
    this.cluster.change(shard, nowMs, () => {
      shard.planned = { ...recordsAfter(step, operation), operation, sinceMs: nowMs }
      shard.waits = undefined
    })
    this.#inFlight.set(operation, shard)
    return planned
  }

  #began({ changes: [first] }: PlannedCommit): void {
    if (first !== undefined) this.#commits.add(first.operation)
  }

  #committed(shard: ShardView, revision: number, nowMs: number): void {
    const { planned } = shard
    if (planned === undefined) return
    this.#settled(planned)
    this.cluster.change(shard, nowMs, () => {
      acceptPlanned(shard, planned, revision)
      shard.planned = undefined
    })
  }

  #dropPlanned(shard: ShardView, nowMs: number): void {
    const { planned } = shard
    if (planned === undefined) return
    this.#settled(planned)
    this.cluster.change(shard, nowMs, () => {
      shard.planned = undefined
    })
  }

  #settled({ operation }: PlannedRecords): void {
    this.#inFlight.delete(operation)
    this.#commits.delete(operation)
  }

  #pause(shard: ShardView, nowMs: number): void {
    shard.pausedUntilMs = nowMs + this.cluster.settings.conflictPauseMs
    this.#paused.add(shard)
  }

  /** Changes without an outcome, and the ends of pauses. */
  #forgetSilent(nowMs: number): void {
    const { outcomeMaxMs } = this.cluster.settings
    for (const shard of this.#inFlight.values()) {
      const sinceMs = shard.planned?.sinceMs ?? nowMs
      if (nowMs - sinceMs < outcomeMaxMs) break // they are in the order of their times
      this.#dropPlanned(shard, nowMs)
    }
    for (const shard of this.#paused) {
      if (shard.pausedUntilMs > nowMs) continue
      this.#paused.delete(shard)
      this.cluster.touch(shard)
    }
  }
}

/** The planned change has happened at this revision. What was observed of later ones stays. */
function acceptPlanned(shard: ShardView, planned: PlannedRecords, revision: number): void {
  const { changes, operation, configuration, move } = planned
  let { known } = shard
  if (changes.configuration && revision > shard.configurationSeen) {
    shard.configurationSeen = revision
    known = { ...known, configuration: configuration && { ...configuration, operation, revision } }
  }
  if (changes.move && revision > shard.moveSeen) {
    shard.moveSeen = revision
    known = { ...known, move, moveRevision: move === undefined ? 0 : revision }
  }
  shard.known = known
}
