import { expect } from 'chai'
import { silentLog, type Log } from '../../../../../lib/log.ts'
import { openMemoryWorld } from '../../../../support/peer/peer-world.ts'

describe('a lane to a peer', () => {
  it('tells of an outage once, and of its end', async () => {
    const told: string[] = []
    const log: Log = {
      ...silentLog,
      info: (message) => told.push(message),
      warn: (message) => told.push(message),
    }
    await using world = openMemoryWorld()
    let failures = 0
    const counting: Log = {
      ...log,
      debug: (message) => {
        if (message === 'no connection to a peer') failures += 1
      },
    }
    const near = await world.open({ nodeId: 'near', log: counting })
    const far = await world.open({ nodeId: 'far' })
    const address = await world.addressOf(far)
    const link = near.link(address)
    await far.close()
    link.send({ operation: 1, body: Buffer.alloc(0) })
    await world.until(() => failures >= 3)
    expect(told).to.deep.equal(['no connection to a peer'])

    await world.open({ nodeId: 'far', port: far.port })
    await world.until(() => told.length > 1)
    expect(told).to.deep.equal(['no connection to a peer', 'connected to the peer again'])
  })
})
