import { ServiceError } from '../../../lib/errors.ts'
import type { LocalShard } from '../../../node/shard/local-shard.ts'
import type { Shard } from '../../../node/shard/shard.ts'
import { withMethods } from '../worlds/shard-world.ts'

export type MovedCode = 'NOT_LEADER' | 'RANGE_MOVED'
export type RefusalCode = MovedCode | 'OVERLOADED' | 'DISK_FULL' | 'TOO_FEW_IN_SYNC'
type Refused = 'write' | 'prepareInOrder' | 'decide'

/** A shard that refuses calls, by default because another one is to be asked; nothing happens then. */
export class MovingShard {
  readonly shard: Shard
  /** How many calls of a method are refused from now on. */
  readonly refusals: Record<Refused, number> = { write: 0, prepareInOrder: 0, decide: 0 }
  readonly calls: Record<Refused, number> = { write: 0, prepareInOrder: 0, decide: 0 }
  code: RefusalCode = 'NOT_LEADER'

  constructor(local: LocalShard) {
    this.shard = withMethods(local, {
      write: async (...args) => {
        this.#refuse('write')
        return local.write(...args)
      },
      prepareInOrder: async (...args) => {
        this.#refuse('prepareInOrder')
        return local.prepareInOrder(...args)
      },
      decide: async (...args) => {
        this.#refuse('decide')
        return local.decide(...args)
      },
    })
  }

  #refuse(method: Refused): void {
    this.calls[method]++
    if (this.refusals[method] === 0) return
    this.refusals[method]--
    throw new ServiceError(this.code, 'nothing happened')
  }
}
