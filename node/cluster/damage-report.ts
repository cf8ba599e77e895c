import { messageOf } from '../../lib/errors.ts'
import type { Log } from '../../lib/log.ts'
import type { Membership } from './membership.ts'
import type { NodeIdentity } from './node-identity.ts'

/** Who writes down that a node has lost data, before it has joined and afterwards. */
type Marks = Pick<Membership, 'markDamaged'>

/**
 * Carries the news that this node has lost data to the cluster.
 *
 * - What is reported before `joined` is part of the registration that joins.
 * - What is reported later, the membership tells at once. `joined` repeats what came while the node was joining: it
 *   may have missed that registration.
 * - `report` never throws. That the news could not be written is logged.
 * - `settled` resolves when everything that was reported so far has been written, or could not be.
 */
export class DamageReport {
  readonly #log: Log
  #marks: Marks
  #told: Promise<void> = Promise.resolve()
  /** Whether something was reported that nobody has waited for before joining. */
  #mayHaveMissed = false

  constructor(identity: Pick<NodeIdentity, 'incarnation' | 'markDamaged'>, log: Log) {
    this.#log = log
    this.#marks = { markDamaged: () => identity.markDamaged(identity.incarnation) }
  }

  report(): void {
    this.#mayHaveMissed = true
    const earlier = this.#told
    const telling = this.#marks.markDamaged().catch((error: unknown) => {
      this.#log.error('the cluster does not know of damage', { error: messageOf(error) })
    })
    this.#told = Promise.all([earlier, telling]).then(() => undefined)
  }

  /** Before it joins, a node waits for this: what it has lost is known before anybody counts on it. */
  async settled(): Promise<void> {
    this.#mayHaveMissed = false
    await this.#told
  }

  joined(membership: Marks): void {
    this.#marks = membership
    if (this.#mayHaveMissed) this.report()
  }
}
