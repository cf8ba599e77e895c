import { ManualClock } from '../../../../../lib/clock.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { describeSharedElections } from '../../../../conformance/shared-elections.ts'
import { passTime } from '../../../../support/worlds/pass-time.ts'

describeSharedElections('the embedded store', async () => {
  const clock = new ManualClock()
  const coordination = new EmbeddedCoordination(new MemoryKvStore(), clock)
  return {
    coordination,
    clock,
    until: async (condition) => {
      while (!(await condition())) await passTime(clock, 50)
    },
    [Symbol.asyncDispose]: () => coordination.close(),
  }
})
