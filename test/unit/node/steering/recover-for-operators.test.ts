import { expect } from 'chai'
import { showRecovery } from '../../../../node/steering/recover-for-operators.ts'

describe('a recovery of the control plane, as it is answered', () => {
  for (const [count, named] of [
    [10_000, 10_000],
    [10_001, 10_000],
  ]) {
    it(`counts the shards that it does not name, and names ${named} of ${count}`, () => {
      const paths = Array.from({ length: count ?? 0 }, (_, i) => `a/${i}` as const)
      const shards = paths.map((path) => ({
        path,
        epoch: 1,
        from: undefined,
        replicas: [],
        inSync: [],
      }))

      const shown = showRecovery({ number: 1, reported: [], shards, unknown: paths })

      expect([shown.shard_count, shown.shards.length]).to.deep.equal([count, named])
      expect([shown.unknown_count, shown.unknown.length]).to.deep.equal([count, named])
    })
  }
})
