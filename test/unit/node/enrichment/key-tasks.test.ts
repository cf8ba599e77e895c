import { expect } from 'chai'
import { ManualClock } from '../../../../lib/clock.ts'
import { silentLog } from '../../../../lib/log.ts'
import { Ending } from '../../../../node/enrichment/ending.ts'
import { KeyTasks } from '../../../../node/enrichment/key-tasks.ts'
import { OrderedWork } from '../../../../node/enrichment/ordered-work.ts'
import { until } from '../../../support/until.ts'

describe('the tasks of an enricher', () => {
  it('tell an error as long as it is one', async () => {
    const clock = new ManualClock()
    let isBroken = true
    const tasks = new KeyTasks(
      { ending: new Ending(), clock, random: () => 0, log: silentLog, indexId: 'a' },
      async ({ onRead }) => {
        onRead()
        if (isBroken) throw new Error('the store cannot be read')
      },
    )

    tasks.take(Buffer.from('key'), 'write', new OrderedWork<number>().begin(1))
    await until(async () => tasks.error !== undefined)
    const { error } = tasks
    isBroken = false
    clock.advance(5_000)
    await tasks.idle()

    expect(error).to.equal('the store cannot be read')
    expect(tasks.error).to.equal(undefined)
  })
})
