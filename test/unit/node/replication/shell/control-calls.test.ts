import { expect } from 'chai'
import { ServiceError } from '../../../../../lib/errors.ts'
import { silentLog } from '../../../../../lib/log.ts'
import type {
  InSyncChange,
  ShardConfiguration,
} from '../../../../../node/replication/core/configuration.ts'
import { ControlCalls } from '../../../../../node/replication/shell/control-calls.ts'

const A = { node: 'a', incarnation: 1 }
const CONFIGURATION: ShardConfiguration = {
  revision: 1,
  epoch: 1,
  leader: A,
  replicas: ['a', 'b'],
  inSync: [A],
  eligible: [],
  minInSync: 1,
  operation: 'create',
}

function adding(operation: string): InSyncChange {
  const replica = { node: 'b', incarnation: 1 }
  return { operation, epoch: 1, revision: 1, kind: 'add', replica }
}

async function away(): Promise<ShardConfiguration> {
  throw new ServiceError('UNAVAILABLE', 'the store does not answer')
}

describe('ControlCalls', () => {
  it('has one call for a change under way, and asks again after its end', async () => {
    const asked: string[] = []
    const answers: PromiseWithResolvers<ShardConfiguration>[] = []
    const change = ({ operation }: InSyncChange): Promise<ShardConfiguration> => {
      asked.push(operation)
      const answer = Promise.withResolvers<ShardConfiguration>()
      answers.push(answer)
      return answer.promise
    }
    const control = { change, confirm: async () => CONFIGURATION }
    const calls = new ControlCalls({ logId: 'x', control, log: silentLog })

    const first = calls.change(adding('one'))
    const beside = await calls.change(adding('one'))
    const other = calls.change(adding('two'))

    expect(beside).to.equal(undefined)
    expect(asked).to.deep.equal(['one', 'two'])
    for (const { resolve } of answers) resolve(CONFIGURATION)
    expect(await first).to.equal(CONFIGURATION)
    await other
    void calls.change(adding('one'))
    expect(asked).to.deep.equal(['one', 'two', 'one'])
  })

  it('answers nothing when the control plane does not', async () => {
    const control = { change: away, confirm: away }
    const calls = new ControlCalls({ logId: 'x', control, log: silentLog })

    expect(await calls.change(adding('one'))).to.equal(undefined)
    expect(await calls.change(adding('one'))).to.equal(undefined)
    expect(await calls.confirm()).to.equal(undefined)
  })
})
