import { expect } from 'chai'
import { ManualClock } from '../../../../../lib/clock.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { RefusalLog } from '../../../../../node/peer/connections/refusal-log.ts'

describe('the log of refused connections', () => {
  it('has a few lines for a flood, and the count of the others', () => {
    const clock = new ManualClock()
    const lines: object[] = []
    const log = { ...silentLog, warn: (_: string, fields: object = {}) => void lines.push(fields) }
    const refusals = new RefusalLog(log, clock)

    for (let at = 0; at < 3000; at += 1) refusals.add(`10.0.0.9:${at}`, 'not a node')
    clock.advance(10_000)
    refusals.add('10.0.0.9:1', 'not a node')

    expect(lines).to.have.length(6)
    expect(lines.at(-1)).to.include({ reason: 'not a node', others: 2995 })
  })
})
