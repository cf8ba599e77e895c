import { systemClock } from '../../../../../lib/clock.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { describeRecoveries } from '../../../../conformance/recoveries.ts'

describeRecoveries('the embedded store', {
  open: async () => new EmbeddedCoordination(new MemoryKvStore(), systemClock),
  histories: 300,
})
