// A node's part in the election of the controller. Every node takes part, so that the cluster has a
// controller as long as it has a node.

import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { Log } from '../../../lib/log.ts'
import type { Coordination } from '../../coordination/coordination.ts'
import { Election, type Leadership } from '../../coordination/election.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import { CONTROLLER_KEY } from '../core/records/cluster-codec.ts'
import type { ControllerSettings } from '../core/view/controller-settings.ts'
import type { AskEnds } from './replica-ends.ts'
import type { CatalogKeys } from './cluster-feed.ts'
import { ElectedController } from './elected-controller.ts'

/** After this the next candidate takes the place of a controller that does not answer. */
const TTL_SECONDS = 10
const RETRY_MS = 500

/** Which node takes part, and by what. */
export interface ControllerOptions {
  readonly coordination: Coordination
  readonly node: NodeId
  readonly catalog: CatalogKeys
  readonly settings?: ControllerSettings
  /** Asks replicas of a node where their logs end. */
  readonly askEnds: AskEnds
  /** Why nothing may be changed, such as the map's reason; undefined while all is well. */
  readonly frozenBy?: () => string | undefined
  /** Whole seconds. Default: TTL_SECONDS. */
  readonly ttlSeconds?: number
  readonly clock: Clock
  readonly log: Log
}

/**
 * Campaigns from its construction on, and works while it is elected.
 *
 * - `elected` is this node's leadership; undefined while another node has it.
 * - After a lost leadership it campaigns again, unless the store went back: then the process has to start
 *   again first.
 * - `close` resigns, so that another node takes over at once.
 */
export class Controller implements AsyncDisposable {
  readonly #options: ControllerOptions
  readonly #closing = new AbortController()
  readonly #running: Promise<void>
  #elected: ElectedController | undefined
  #frozen: string | undefined
  #failure: string | undefined

  constructor(options: ControllerOptions) {
    this.#options = options
    this.#running = this.#run()
  }

  get elected(): ElectedController | undefined {
    return this.#elected
  }

  /** Why this node changes nothing and does not campaign, until its process starts again. */
  get frozen(): string | undefined {
    return this.#frozen ?? this.#elected?.frozen
  }

  async close(): Promise<void> {
    this.#closing.abort()
    await this.#running
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close()
  }

  async #run(): Promise<void> {
    const { signal } = this.#closing
    while (!signal.aborted && this.#frozen === undefined) {
      try {
        await this.#campaign()
      } catch (error) {
        if (!signal.aborted) this.#complain(messageOf(error))
      }
      await this.#options.clock.sleep(RETRY_MS, signal).catch(() => undefined) // closed
    }
  }

  async #campaign(): Promise<void> {
    const { coordination, ttlSeconds = TTL_SECONDS, node } = this.#options
    const lease = await coordination.grantLease(ttlSeconds)
    try {
      const candidate = { lease, value: Buffer.from(node) }
      const election = new Election(coordination, CONTROLLER_KEY)
      await this.#lead(await election.campaign(candidate, this.#closing.signal))
    } finally {
      await lease.revoke().catch(() => undefined) // the store is away: the key goes with the lease
    }
  }

  async #lead(leadership: Leadership): Promise<void> {
    const { log } = this.#options
    const { token } = leadership
    this.#failure = undefined
    log.info('this node is the controller', { token })
    const elected = new ElectedController({ ...this.#options, leadership })
    this.#elected = elected
    await elected.run(this.#closing.signal)
    this.#elected = undefined
    this.#frozen = elected.frozen
    log.info('this node is the controller no more', { token })
    await leadership.resign().catch(() => undefined) // the key goes with the lease
    await elected.settled()
  }

  /** Once for each reason, because it tries again all the time. */
  #complain(reason: string): void {
    if (reason === this.#failure) return
    this.#failure = reason
    this.#options.log.warn('this node cannot campaign for controller', { reason })
  }
}
