// The shell of the controller's core while this node is elected: it brings observations, commits what
// the core plans, and tells the outcomes.
//
// Invariants:
//   CS1  A change is sent only while the leadership is not known to be lost; each carries the fence.
//   CS2  The entries of a conflict are observed before the change is settled, so that the next plan is
//        not made of the same view.
//   CS3  Nothing is planned before everything was listed, nor after the store went back.

import type { Clock } from '../../../lib/clock.ts'
import { ServiceError, isServiceError, messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import { followEntries, type EntryChange } from '../../cluster/follow-entries.ts'
import type {
  CommitOutcome,
  Coordination,
  CoordinationEntry,
} from '../../coordination/coordination.ts'
import type { Leadership } from '../../coordination/election.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import { ControllerCore, type AskedEnd } from '../core/controller-core.ts'
import type { Refusal } from '../core/operator-requests.ts'
import type { PlannedCommit } from '../core/planned-commit.ts'
import type { ClusterView } from '../core/view/cluster-view.ts'
import type { ControllerSettings } from '../core/view/controller-settings.ts'
import { holdLeftMs } from '../core/records/node-record.ts'
import type { Observation } from '../core/view/observation.ts'
import type { Step } from '../core/decisions/step.ts'
import type { NodeTold } from './node-told.ts'
import { ENDS_MAX, type AskEnds } from './replica-ends.ts'
import { ClusterFeed, type CatalogKeys } from './cluster-feed.ts'

/** Plans are made this often. At 90 commits a second a plan has about five. */
const PLAN_MS = 50
/** Commits under way at once; more would only wait for each other. */
const COMMITS_MAX = 8

/** The pause before a node is asked again for the same. */
const ASK_PAUSE_MS = 200

/** What an elected controller works with. */
export interface ElectedOptions {
  readonly coordination: Coordination
  readonly leadership: Leadership
  /** The node's id. Together with the leadership's token it names the controller. */
  readonly node: string
  readonly catalog: CatalogKeys
  readonly settings?: ControllerSettings
  /** Asks replicas of a node where their logs end. Those that cannot say are left out. Rejects as calls of peers do. */
  readonly askEnds: AskEnds
  /** Why nothing may be changed; undefined while all is well. */
  readonly frozenBy?: () => string | undefined
  readonly clock: Clock
  readonly log: Log
}

/** One leadership of the controller. */
export class ElectedController {
  readonly #options: ElectedOptions
  readonly #core: ControllerCore
  readonly #feed: ClusterFeed
  readonly #over = new AbortController()
  readonly #queue: PlannedCommit[] = []
  readonly #commits = new Set<Promise<void>>()
  /** Nodes that were asked a moment ago. */
  readonly #asked = new Set<NodeId>()
  #isListed = false
  #frozen: string | undefined

  constructor(options: ElectedOptions) {
    const { leadership, node, settings } = options
    this.#options = options
    const name = `${node}/${leadership.token}`
    const fence = leadership.fence
    this.#core = new ControllerCore({ name, fence, ...(settings && { settings }) })
    this.#feed = new ClusterFeed(options.catalog)
  }

  /** The key whose creation revision fences each change. */
  get fenceKey(): string {
    return this.#options.leadership.fence.key
  }

  /** Why nothing is changed any more, until the process starts again. */
  get frozen(): string | undefined {
    return this.#frozen
  }

  /** Whether it knows everything that there is. */
  get isReady(): boolean {
    return this.#isListed && this.#frozen === undefined && !this.#over.signal.aborted
  }

  /** Works until `signal` aborts or the leadership is lost. Never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { leadership, clock, coordination } = this.#options
    const over = AbortSignal.any([signal, leadership.lost, this.#over.signal])
    const sink = {
      changed: (change: EntryChange) => this.#observe(change),
      listed: (revision: number) => this.#onListed(revision),
      failed: (error: unknown) => this.#onFailed(error),
    }
    const { prefixes } = this.#feed
    const following = followEntries({ coordination, prefixes, clock, sink }, over)
    const stopPlans = clock.every(PLAN_MS, async () => this.#plan())
    await aborted(over)
    if (!this.#over.signal.aborted) this.#over.abort()
    await stopPlans()
    await following
  }

  /** Resolves when no commit is under way any more. */
  async settled(): Promise<void> {
    await Promise.all(this.#commits)
  }

  /** Throws NOT_LEADER if it does not know everything yet, and UNAVAILABLE when it is frozen. */
  show<Shown>(read: (cluster: ClusterView) => Shown): Shown {
    this.#assertReady()
    return read(this.#core.cluster)
  }

  /** What a node tells: how large replicas are that it leads, and its disk. */
  hear({ sizes, disk: told }: NodeTold): void {
    const nowMs = this.#options.clock.monotonicMs()
    for (const { path, bytes } of sizes) this.#core.observe({ kind: 'size', path, bytes }, nowMs)
    if (told === undefined) return
    this.#core.observe({ kind: 'disk', id: told.node, disk: told.disk }, nowMs)
  }

  /**
   * Makes the step that an operator asked for. Answers a refusal if nothing has changed. Rejects with
   * UNAVAILABLE if the outcome is unknown, otherwise as `show` does.
   */
  async request(decide: (cluster: ClusterView) => Step | Refusal): Promise<Refusal | undefined> {
    this.#assertReady()
    const { clock, coordination } = this.#options
    const step = decide(this.#core.cluster)
    if ('refused' in step) return step
    const planned = this.#core.change(step, clock.monotonicMs())
    try {
      const outcome = await coordination.commit(planned.commit)
      this.#settle(planned, outcome)
      if (outcome.kind === 'committed') return undefined
      return { refused: `${step.shard.path} changed meanwhile; try again` }
    } catch (error) {
      this.#onUnknown(planned, error)
      throw error
    }
  }

  #assertReady(): void {
    if (this.isReady) return
    if (this.#frozen === undefined) throw new ServiceError('NOT_LEADER', 'it has just been elected')
    throw new ServiceError('UNAVAILABLE', `the controller is frozen: ${this.#frozen}`)
  }

  #observe(change: EntryChange): void {
    const nowMs = this.#options.clock.monotonicMs()
    try {
      for (const observed of this.#feed.read(change)) {
        this.#core.observe(this.#timed(observed), nowMs)
      }
    } catch (error) {
      const { key, revision } = change
      const reason = messageOf(error)
      this.#options.log.error('the controller cannot read an entry', { key, revision, reason })
    }
  }

  /** The core knows no wall clock, by which holds end. */
  #timed(observed: Observation): Observation {
    if (observed.kind !== 'node' || observed.record === undefined) return observed
    return { ...observed, holdLeftMs: holdLeftMs(observed.record, this.#options.clock.nowMs()) }
  }

  #onListed(revision: number): void {
    this.#core.listed(revision)
    this.#isListed = true
    if (this.#core.frozen !== undefined) this.#freeze(this.#core.frozen)
  }

  #onFailed(error: unknown): void {
    if (isServiceError(error) && error.code === 'CORRUPTION') this.#freeze(error.message)
  }

  /** CS3. */
  #freeze(reason: string): void {
    if (this.#frozen !== undefined) return
    this.#frozen = reason
    this.#queue.length = 0
    this.#options.log.error('the controller is frozen: the coordination store lost commits', {
      reason,
    })
  }

  #plan(): void {
    const reason = this.#options.frozenBy?.()
    if (reason !== undefined) this.#freeze(reason)
    if (!this.isReady) return
    this.#queue.push(...this.#core.plan(this.#options.clock.monotonicMs()))
    for (const [node, asked] of this.#core.takeAsks()) this.#askEnds(node, asked)
    this.#send()
  }

  /** One call at a time for each node. What is left out of it is wanted again by a later plan. */
  #askEnds(node: NodeId, all: readonly AskedEnd[]): void {
    if (this.#asked.has(node)) return
    this.#asked.add(node)
    const { clock, log, askEnds } = this.#options
    const rounds = new Map(all.slice(0, ENDS_MAX).map(({ path, round }) => [path, round]))
    void askEnds(node, [...rounds.keys()])
      .then(({ incarnation, ends }) => {
        const nowMs = clock.monotonicMs()
        for (const { path, ...end } of ends) {
          const round = rounds.get(path)
          if (round === undefined) continue
          const replica = { node, incarnation }
          this.#core.observe({ kind: 'end', path, round, replica, end }, nowMs)
        }
      })
      .catch((error: unknown) => {
        log.debug('a node does not say where its logs end', { node, reason: messageOf(error) })
      })
      .then(() => clock.sleep(ASK_PAUSE_MS, this.#over.signal))
      .catch(() => undefined) // over
      .finally(() => this.#asked.delete(node))
  }

  /** CS1. */
  #send(): void {
    while (this.isReady && this.#commits.size < COMMITS_MAX) {
      const planned = this.#queue.shift()
      if (planned === undefined) return
      const done = this.#commit(planned).then(() => {
        this.#commits.delete(done)
        this.#send()
      })
      this.#commits.add(done)
    }
  }

  async #commit(planned: PlannedCommit): Promise<void> {
    try {
      this.#settle(planned, await this.#options.coordination.commit(planned.commit))
    } catch (error) {
      this.#onUnknown(planned, error)
    }
  }

  #settle(planned: PlannedCommit, outcome: CommitOutcome): void {
    const { log, clock } = this.#options
    if (outcome.kind === 'committed') {
      for (const { kind, path, reason, operation } of planned.changes) {
        log.info('cluster changed', { kind, path, reason, operation })
      }
    } else {
      if (!this.#holdsFence(outcome.entries)) return this.#depose()
      for (const entry of outcome.entries) {
        this.#observe({ key: entry.key, entry, revision: entry.modRevision }) // CS2
      }
      log.debug('a change of the cluster met another one', describe(planned))
    }
    this.#core.settle(planned, outcome, clock.monotonicMs())
  }

  #onUnknown(planned: PlannedCommit, error: unknown): void {
    const { log, clock } = this.#options
    this.#onFailed(error)
    const reason = messageOf(error)
    log.warn('a change of the cluster has no answer', { ...describe(planned), reason })
    this.#core.settle(planned, { kind: 'unknown' }, clock.monotonicMs())
  }

  #holdsFence(entries: readonly CoordinationEntry[]): boolean {
    const { fence, token } = this.#options.leadership
    return entries.some(({ key, createRevision }) => key === fence.key && createRevision === token)
  }

  #depose(): void {
    if (this.#over.signal.aborted) return
    this.#over.abort()
    this.#options.log.warn('another controller was elected', {})
  }
}

/** The first change of the commit, and of how many. */
function describe({ changes }: PlannedCommit): Record<string, string | number | undefined> {
  const [first] = changes
  return {
    kind: first?.kind,
    path: first?.path,
    operation: first?.operation,
    changes: changes.length,
  }
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    signal.addEventListener('abort', () => resolve(), { once: true })
  })
}
