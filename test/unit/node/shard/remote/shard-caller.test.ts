import { expect } from 'chai'
import { must } from '../../../../../lib/assert.ts'
import { ManualClock } from '../../../../../lib/clock.ts'
import { LoopbackLink } from '../../../../../node/replicas/loopback-link.ts'
import { TransportError } from '../../../../../node/peer/peer.ts'
import { ShardCaller } from '../../../../../node/shard/remote/shard-caller.ts'
import { parseShardId } from '../../../../../node/shard/shard-id.ts'
import { ShardRefusal } from '../../../../../node/shard/remote/wire/call-head.ts'
import { failureOf } from '../../../../support/failure-of.ts'

const LOST = new TransportError('UNAVAILABLE', 'the connection was lost', 'unknown')

/** The failure of a call that may be made again and whose tries end so. */
async function failureAfter(tries: readonly Error[]): Promise<unknown> {
  const clock = new ManualClock()
  const link = new LoopbackLink('b', new Map(), clock)
  const rest = [...tries]
  // Each try knows of a newer leader, so no pause comes between.
  const leaderOf = async (): Promise<{ node: string; epoch: number; link: LoopbackLink }> => ({
    node: 'b',
    epoch: tries.length - rest.length,
    link,
  })
  const places = { leaderOf, hint: () => undefined }
  const caller = new ShardCaller(parseShardId('0123456789abcdef'), {
    places,
    clock,
    random: () => 0,
  })
  const calling = caller.call(
    async () => {
      throw must(rest.shift(), 'another try')
    },
    { isRepeatable: true, deadlineMs: Infinity, signal: undefined },
  )
  return failureOf(calling)
}

const REFUSALS: Readonly<Record<string, Error>> = {
  'the shard': new ShardRefusal('DISK_FULL', 'the disk is full', { happened: 'nothing' }),
  'the way to it': new TransportError('OVERLOADED', 'too many calls wait', 'nothing'),
  'an older node': new TransportError('INVALID_ARGUMENT', 'no operation 99', 'nothing'),
}

describe('a call of a shard', () => {
  for (const [name, refusal] of Object.entries(REFUSALS)) {
    it(`is refused by ${name}`, async () => {
      expect(await failureAfter([refusal])).to.equal(refusal)
    })

    it(`has an unknown outcome when ${name} refuses the try after one whose answer was lost`, async () => {
      expect(await failureAfter([LOST, refusal])).to.include({ code: 'UNAVAILABLE' })
    })
  }
})
