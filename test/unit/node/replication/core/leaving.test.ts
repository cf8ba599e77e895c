import { expect } from 'chai'
import type { ShardConfiguration } from '../../../../../node/replication/core/configuration.ts'
import type { Effect } from '../../../../../node/replication/core/effects.ts'
import { LogIndex, type EntryInfo } from '../../../../../node/replication/core/log-index.ts'
import { ReplicaCore } from '../../../../../node/replication/core/replica-core.ts'
import { REPLICATION_TIMING } from '../../../../../node/replication/core/timing.ts'

const START = { sequence: 0, epoch: 0, crc: 0 }
/** When no grant of an earlier life can run any more. */
const AWAKE_MS = REPLICATION_TIMING.grantMs

const TWO: ShardConfiguration = {
  revision: 1,
  epoch: 1,
  leader: { node: 'a', incarnation: 1 },
  replicas: ['a', 'b'],
  inSync: [
    { node: 'a', incarnation: 1 },
    { node: 'b', incarnation: 1 },
  ],
  eligible: [],
  minInSync: 2,
  operation: 'create',
}

function entry(sequence: number, epoch = 1): EntryInfo {
  return { sequence, epoch, crc: sequence * 10 + epoch, bytes: 100 }
}

function newCore(node: string): ReplicaCore {
  const core = new ReplicaCore({
    self: { node, incarnation: 1 },
    timing: REPLICATION_TIMING,
    log: new LogIndex(START, []),
    promised: 0,
    committed: 0,
  })
  core.step({ kind: 'ticked' }, 0)
  return core
}

/** The leader of `TWO`, whose first entry is on its disk. */
function newLeader(configuration = TWO): ReplicaCore {
  const core = newCore('a')
  core.step({ kind: 'configured', configuration }, AWAKE_MS)
  core.step({ kind: 'promised', epoch: 1 }, AWAKE_MS)
  core.step({ kind: 'proposed', entries: [entry(1)] }, AWAKE_MS)
  core.step({ kind: 'durable', position: entry(1) }, AWAKE_MS)
  return core
}

function acknowledge(
  core: ReplicaCore,
  durable: number,
  nowMs = AWAKE_MS,
  from = { node: 'b', incarnation: 1 },
): readonly Effect[] {
  const head = { kind: 'appended', epoch: 1, sentMs: AWAKE_MS, logEnd: durable } as const
  return core.step({ kind: 'received', from, message: { ...head, durable } }, nowMs)
}

function changesIn(effects: readonly Effect[]) {
  return effects.flatMap((effect) => (effect.kind === 'change' ? [effect.change] : []))
}

describe('a leader whose follower is about to stop', () => {
  const leaving = { kind: 'leaving', nodes: new Map([['b', 1]]) } as const
  it('takes it out of the set at once, and does not add it again', () => {
    const core = newLeader({ ...TWO, minInSync: 1 })
    acknowledge(core, 1)

    const [change] = changesIn(core.step(leaving, AWAKE_MS))

    expect(change).to.include({ kind: 'remove' })
    expect(change?.replica).to.deep.equal({ node: 'b', incarnation: 1 })
    const alone = { ...TWO, minInSync: 1, inSync: TWO.inSync.slice(0, 1), revision: 2 }
    core.step({ kind: 'configured', configuration: alone }, AWAKE_MS)
    expect(changesIn(acknowledge(core, 1, AWAKE_MS + 10))).to.deep.equal([])
    expect(core.restOf('b')).to.equal(undefined)
  })

  it('adds its next life again', () => {
    const core = newLeader({ ...TWO, minInSync: 1 })
    acknowledge(core, 1)
    core.step(leaving, AWAKE_MS)
    const alone = { ...TWO, minInSync: 1, inSync: TWO.inSync.slice(0, 1), revision: 2 }
    core.step({ kind: 'configured', configuration: alone }, AWAKE_MS)

    const next = { node: 'b', incarnation: 2 }
    const [change] = changesIn(acknowledge(core, 1, AWAKE_MS + 10, next))

    expect(change).to.include({ kind: 'add' })
  })

  it('keeps it where the set would fall below its minimum', () => {
    const core = newLeader()
    acknowledge(core, 1)

    expect(changesIn(core.step(leaving, AWAKE_MS))).to.deep.equal([])
  })

  it('keeps it while another member is silent, which may be gone', () => {
    const members = ['a', 'b', 'c'].map((node) => ({ node, incarnation: 1 }))
    const three = { ...TWO, replicas: ['a', 'b', 'c'], inSync: members, minInSync: 2 }
    const core = newLeader(three)
    const laterMs = AWAKE_MS + 4 * REPLICATION_TIMING.heartbeatMs
    acknowledge(core, 1, laterMs)

    expect(changesIn(core.step(leaving, laterMs))).to.deep.equal([])
  })

  it('keeps it while it is about to stop itself', () => {
    const core = newLeader({ ...TWO, minInSync: 1 })
    acknowledge(core, 1)
    const both = new Map([...leaving.nodes, ['a', 1] as const])

    expect(changesIn(core.step({ kind: 'leaving', nodes: both }, AWAKE_MS))).to.deep.equal([])
  })

  it('asks again when the change was refused', () => {
    const core = newLeader({ ...TWO, minInSync: 1 })
    acknowledge(core, 1)
    const [change] = changesIn(core.step(leaving, AWAKE_MS))
    const operation = change?.operation ?? ''
    const configuration = { ...TWO, minInSync: 1 }
    core.step({ kind: 'change_answered', operation, configuration }, AWAKE_MS)
    const laterMs = AWAKE_MS + REPLICATION_TIMING.changeRetryMs

    const again = changesIn(core.step({ kind: 'ticked' }, laterMs))

    expect(again.map(({ kind }) => kind)).to.deep.equal(['remove'])
  })
})

function ping(epoch: number) {
  return { kind: 'ping', epoch, round: 1 } as const
}

describe('a new replica', () => {
  it('waits for no grant before it follows, and for one before it follows another', () => {
    const core = newCore('a')
    const from = { node: 'b', incarnation: 1 }
    const configuration = { ...TWO, epoch: 7, leader: from }
    core.step({ kind: 'configured', configuration }, 5)

    const effects = core.step({ kind: 'received', from, message: ping(7) }, 10)

    expect(effects).to.deep.equal([{ kind: 'promise', epoch: 7 }])
    core.step({ kind: 'promised', epoch: 7 }, 10)
    expect(core.step({ kind: 'received', from, message: ping(8) }, 20)).to.deep.equal([])
  })
})
