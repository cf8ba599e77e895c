import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { EmbeddedCoordination } from '../../../../../node/coordination/embedded-coordination.ts'
import { ClusterTables } from '../../../../../node/replicas/tables/cluster-tables.ts'
import { MemoryKvStore } from '../../../../../node/storage/memory-kv-store.ts'
import { passTimeUntil } from '../../../../support/worlds/pass-time.ts'

describe('ClusterTables', () => {
  it('closes while a shard of a dropped table waits for followers that are gone', async () => {
    const clock = new ManualClock()
    await using coordination = new EmbeddedCoordination(new MemoryKvStore(), clock)
    let seals = 0
    const seal = (): Promise<void> => {
      seals += 1
      return new Promise(() => undefined)
    }
    // What the table asks of the node around it in this test, and nothing else.
    const around = {
      map: { onChange: () => () => undefined },
      registry: { all: () => [{ record: { state: 'dropping' }, tableId: 't', shards: [] }] },
      led: { among: () => [{ id: 's', seal }] },
    }
    const options = { ...around, coordination, clock, log: silentLog }
    const tables: ClusterTables = Reflect.construct(ClusterTables, [options])
    const started = tables.start(new AbortController().signal)
    await passTimeUntil(clock, () => seals > 0)
    await started

    let isClosed = false
    const closing = tables.close().then(() => (isClosed = true))
    await passTimeUntil(clock, () => isClosed)
    await closing

    expect(seals).to.equal(1)
  })
})
