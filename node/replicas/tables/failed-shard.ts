import { ServiceError } from '../../../lib/errors.ts'
import type { KeyRange } from '../../shard/command/key-range.ts'
import type { Shard, ShardCondition, ShardStats } from '../../shard/shard.ts'
import type { ShardId } from '../../shard/shard-id.ts'

/**
 * Stands in for a shard whose store could not be opened, so that the rest of the node can serve. Every
 * method that reads or writes rejects with UNAVAILABLE and the reason; `state` tells the reason too.
 */
export class FailedShard implements Shard {
  readonly id: ShardId
  readonly range: KeyRange
  readonly durableOrder = undefined
  readonly #reason: string

  constructor(id: ShardId, range: KeyRange, reason: string) {
    this.id = id
    this.range = range
    this.#reason = reason
  }

  read = (): Promise<never> => this.#refuse()
  artifacts = (): Promise<never> => this.#refuse()
  moment = (): Promise<never> => this.#refuse()
  scan = (): Promise<never> => this.#refuse()
  pinHistory = (): Promise<never> => this.#refuse()
  write = (): Promise<never> => this.#refuse()
  prepare = (): Promise<never> => this.#refuse()
  prepareInOrder = (): Promise<never> => this.#refuse()
  decide = (): Promise<never> => this.#refuse()
  resolve = (): Promise<never> => this.#refuse()
  forget = (): Promise<never> => this.#refuse()
  push = (): Promise<never> => this.#refuse()
  waitForRelease = (): Promise<never> => this.#refuse()
  search = (): Promise<never> => this.#refuse()
  indexPosition = (): Promise<never> => this.#refuse()
  indexStatus = (): Promise<never> => this.#refuse()
  waitForIndexes = (): Promise<never> => this.#refuse()

  heartbeat = (): Promise<never> => this.#refuse()

  hurry(): void {}

  async stats(): Promise<ShardStats> {
    return { diskBytes: 0, empty: false, indexVersions: [] }
  }

  async state(): Promise<ShardCondition> {
    return { kind: 'failed', reason: this.#reason }
  }

  #refuse(): Promise<never> {
    const message = `shard ${this.id} could not be opened (${this.#reason}); see the cluster status`
    return Promise.reject(new ServiceError('UNAVAILABLE', message))
  }
}
