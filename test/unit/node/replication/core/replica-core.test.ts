import { expect } from 'chai'
import {
  changedConfiguration,
  type ShardConfiguration,
} from '../../../../../node/replication/core/configuration.ts'
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

function newCore(node: string, entries: readonly EntryInfo[] = []): ReplicaCore {
  const core = new ReplicaCore({
    self: { node, incarnation: 1 },
    timing: REPLICATION_TIMING,
    log: new LogIndex(START, entries),
    promised: 0,
    committed: 0,
  })
  core.step({ kind: 'ticked' }, 0)
  if (node !== 'a') core.step({ kind: 'configured', configuration: TWO }, 0)
  return core
}

/** The leader of `TWO`, whose first entry is on its disk. */
function newLeader(): ReplicaCore {
  const core = newCore('a')
  core.step({ kind: 'configured', configuration: TWO }, AWAKE_MS)
  core.step({ kind: 'promised', epoch: 1 }, AWAKE_MS)
  core.step({ kind: 'proposed', entries: [entry(1)] }, AWAKE_MS)
  core.step({ kind: 'durable', position: entry(1) }, AWAKE_MS)
  return core
}

const kindsOf = (effects: readonly Effect[]) => effects.map(({ kind }) => kind)

function acknowledge(
  core: ReplicaCore,
  durable: number,
  nowMs = AWAKE_MS,
  from = { node: 'b', incarnation: 1 },
): readonly Effect[] {
  const head = { kind: 'appended', epoch: 1, sentMs: AWAKE_MS, logEnd: durable } as const
  return core.step({ kind: 'received', from, message: { ...head, durable } }, nowMs)
}

describe('ReplicaCore', () => {
  it('promises before it leads, and only when its grants are over', () => {
    const core = newCore('a')
    const configuration = { ...TWO, epoch: 2 }

    expect(kindsOf(core.step({ kind: 'configured', configuration }, 10))).to.deep.equal([])
    expect(core.step({ kind: 'ticked' }, AWAKE_MS)).to.deep.equal([{ kind: 'promise', epoch: 2 }])
    expect(core.admission).to.equal('not_leader')

    const effects = core.step({ kind: 'promised', epoch: 2 }, AWAKE_MS)

    expect(effects).to.deep.include({ kind: 'start_epoch', epoch: 2 })
    expect(core.admission).to.equal('starting')
  })

  it('waits for no grant before the first epoch of its shard', () => {
    const core = newCore('a')
    const promise = [{ kind: 'promise', epoch: 1 }]

    expect(core.step({ kind: 'configured', configuration: TWO }, 10)).to.deep.equal(promise)
  })

  it('serves when the first entry of its epoch is on every disk of the set', () => {
    const core = newLeader()

    expect(core.admission).to.equal('starting')
    expect(acknowledge(core, 1)).to.deep.include.members([
      { kind: 'commit', through: 1 },
      { kind: 'serve', epoch: 1 },
    ])
    expect(core.admission).to.equal('open')
  })

  it('commits only entries that are on its own disk', () => {
    const core = newLeader()
    acknowledge(core, 1)
    core.step({ kind: 'proposed', entries: [entry(2)] }, AWAKE_MS)

    expect(kindsOf(acknowledge(core, 2))).to.not.include('commit')
    expect(core.step({ kind: 'durable', position: entry(2) }, AWAKE_MS)).to.deep.equal([
      { kind: 'commit', through: 2 },
    ])
  })

  it('sends all entries of one proposal in one message for each follower', () => {
    const core = newLeader()
    acknowledge(core, 1)

    const effects = core.step({ kind: 'proposed', entries: [entry(2), entry(3)] }, AWAKE_MS)

    const sent = effects.filter(({ kind }) => kind === 'replicate')
    expect(sent).to.have.length(1)
    expect(sent[0]).to.deep.include({ kind: 'replicate' })
    expect(sent).to.have.nested.property('[0].order.through', 3)
  })

  it('sends what came meanwhile with the first answer of a follower', () => {
    const core = newLeader()

    const effects = acknowledge(core, 0)

    const [sent] = effects.filter(({ kind }) => kind === 'replicate')
    expect(sent).to.have.nested.property('order.previous.sequence', 0)
    expect(sent).to.have.nested.property('order.through', 1)
  })

  it('needs no snapshot of what it has, committed or not, nor while it leads', () => {
    const follower = newCore('b', [entry(1), entry(2)])

    expect(follower.needsSnapshot(entry(3))).to.equal(true)
    expect(follower.needsSnapshot({ ...entry(2), crc: 7 })).to.equal(true)
    expect(follower.needsSnapshot(entry(2))).to.equal(false)
    expect(newLeader().needsSnapshot(entry(3))).to.equal(false)
  })

  it('stops sending when the window is full, and starts again with an acknowledgement', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const { windowBytes, messageBytesMax } = REPLICATION_TIMING
    const count = windowBytes / messageBytesMax + 2
    const large = Array.from({ length: count }, (_, index) => ({
      ...entry(index + 2),
      bytes: messageBytesMax,
    }))

    const first = core.step({ kind: 'proposed', entries: large }, AWAKE_MS)
    const second = acknowledge(core, 2)

    expect(kindsOf(first).filter((kind) => kind === 'replicate')).to.have.length(count - 2)
    expect(kindsOf(second).filter((kind) => kind === 'replicate')).to.have.length(1)
  })

  it('answers reads at once while the grants run, and asks afterwards', () => {
    const core = newLeader()
    acknowledge(core, 1)

    const soon = core.step({ kind: 'read_asked', token: 1, isHeard: false }, AWAKE_MS + 100)
    const late = core.step({ kind: 'read_asked', token: 2, isHeard: false }, AWAKE_MS * 2)

    expect(soon).to.deep.equal([{ kind: 'read', token: 1 }])
    expect(kindsOf(late)).to.deep.equal(['send'])
    const pong = { kind: 'pong', epoch: 1, round: 1 } as const
    const from = { node: 'b', incarnation: 1 }
    expect(core.step({ kind: 'received', from, message: pong }, AWAKE_MS * 2)).to.deep.equal([
      { kind: 'read', token: 2 },
    ])
  })

  it('asks for a read of which the others must have heard, whatever they granted', () => {
    const core = newLeader()
    acknowledge(core, 1)

    const asked = core.step({ kind: 'read_asked', token: 1, isHeard: true }, AWAKE_MS + 100)

    expect(kindsOf(asked)).to.deep.equal(['send'])
    const pong = { kind: 'pong', epoch: 1, round: 1 } as const
    const from = { node: 'b', incarnation: 1 }
    expect(core.step({ kind: 'received', from, message: pong }, AWAKE_MS + 101)).to.deep.equal([
      { kind: 'read', token: 1 },
    ])
  })

  it('refuses writes below the minimum, and serves reads only after asking the control plane', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const alone = { ...TWO, revision: 2, inSync: TWO.inSync.slice(0, 1) }

    core.step({ kind: 'configured', configuration: alone }, AWAKE_MS)

    expect(core.admission).to.equal('under_replicated')
    expect(core.step({ kind: 'read_asked', token: 1, isHeard: false }, AWAKE_MS)).to.deep.equal([
      { kind: 'confirm', token: 1 },
    ])
    const confirmed = { kind: 'confirmed', token: 1, configuration: alone } as const
    expect(core.step(confirmed, AWAKE_MS)).to.deep.equal([{ kind: 'read', token: 1 }])
  })

  it('repeats the request to remove a follower that stays behind', () => {
    const core = newLeader()
    const { lagMaxMs, changeRetryMs } = REPLICATION_TIMING
    const lateMs = AWAKE_MS + lagMaxMs + 1

    const asked = core.step({ kind: 'ticked' }, lateMs).filter(({ kind }) => kind === 'change')
    const again = core
      .step({ kind: 'ticked' }, lateMs + changeRetryMs)
      .filter(({ kind }) => kind === 'change')

    expect(asked).to.have.nested.property('[0].change.kind', 'remove')
    expect(again).to.deep.equal(asked)
  })

  it('waits no more for a replica whose addition is refused, and asks for it again later', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const configuration = { ...TWO, revision: 2, replicas: ['a', 'b', 'c'] }
    core.step({ kind: 'configured', configuration }, AWAKE_MS)
    const c = { node: 'c', incarnation: 1 }
    const asked = acknowledge(core, 1, AWAKE_MS, c).find((effect) => effect.kind === 'change')
    core.step({ kind: 'proposed', entries: [entry(2)] }, AWAKE_MS)
    core.step({ kind: 'durable', position: entry(2) }, AWAKE_MS)
    expect(kindsOf(acknowledge(core, 2))).not.to.include('commit') // c may be in the set
    const operation = asked?.change.operation ?? ''

    const answer = { kind: 'change_answered', operation, configuration } as const
    expect(kindsOf(core.step(answer, AWAKE_MS))).to.include('commit')

    const { changeRetryMs } = REPLICATION_TIMING
    const soon = AWAKE_MS + changeRetryMs - 1
    expect(kindsOf(acknowledge(core, 2, soon, c))).not.to.include('change')
    const reborn = { node: 'c', incarnation: 2 }
    const again = acknowledge(core, 2, AWAKE_MS + changeRetryMs, reborn)
    expect(again.find((effect) => effect.kind === 'change')?.change)
      .to.include({ kind: 'add', revision: 2 })
      .and.deep.include({ replica: reborn })
  })

  it('keeps a change that another answer does not refuse', () => {
    const core = newLeader()
    const lateMs = AWAKE_MS + REPLICATION_TIMING.lagMaxMs + 1
    core.step({ kind: 'ticked' }, lateMs)

    core.step({ kind: 'change_answered', operation: 'another', configuration: TWO }, lateMs)

    expect(kindsOf(core.step({ kind: 'ticked' }, lateMs))).not.to.include('change')
  })

  it('truncates entries that a newer leader does not have', () => {
    const core = newCore('b', [entry(1), entry(2)])
    const from = { node: 'a', incarnation: 1 }
    const message = {
      kind: 'append',
      epoch: 2,
      previous: entry(1),
      entries: [entry(2, 2)],
      committed: 1,
      sentMs: 5,
      logEnd: 2,
      closed: undefined,
    } as const
    core.step({ kind: 'received', from, message }, AWAKE_MS)
    core.step({ kind: 'promised', epoch: 2 }, AWAKE_MS)

    const effects = core.step({ kind: 'received', from, message }, AWAKE_MS)

    expect(effects).to.deep.include({
      kind: 'append',
      entries: [entry(2, 2)],
      truncateAfter: 1,
    })
    expect(core.committed).to.equal(1)
  })

  it('answers a new leader as soon as its promise is on disk, without another message', () => {
    const core = newCore('b', [entry(1)])
    const from = { node: 'a', incarnation: 1 }
    const said = { committed: 1, sentMs: 7, logEnd: 2, closed: undefined }
    const head = { kind: 'append', epoch: 2, ...said } as const
    const message = { ...head, previous: entry(1), entries: [entry(2, 2)] }

    const early = core.step({ kind: 'received', from, message }, 10)
    const released = core.step({ kind: 'ticked' }, AWAKE_MS)
    const answered = core.step({ kind: 'promised', epoch: 2 }, AWAKE_MS)

    expect(early).to.deep.equal([]) // an earlier grant may run
    expect(released).to.deep.equal([{ kind: 'promise', epoch: 2 }])
    const answer = { kind: 'appended', epoch: 2, durable: 1, sentMs: 7, logEnd: 2 }
    expect(answered).to.deep.include({ kind: 'send', to: 'a', message: answer })
  })

  it('follows a new leader at once when the old one releases it', () => {
    const core = newCore('b', [entry(1)])
    const from = { node: 'a', incarnation: 1 }
    const said = { committed: 1, sentMs: 7, logEnd: 1, closed: undefined }
    const head = { kind: 'append', ...said } as const
    const heartbeat = { ...head, previous: entry(1), entries: [] }
    core.step({ kind: 'received', from, message: { ...heartbeat, epoch: 1 } }, 10)
    core.step({ kind: 'promised', epoch: 1 }, 20)
    const newer = { ...heartbeat, epoch: 2 }
    const waiting = core.step(
      { kind: 'received', from: { node: 'c', incarnation: 1 }, message: newer },
      30,
    )

    const released = core.step(
      { kind: 'received', from, message: { kind: 'release', epoch: 1 } },
      40,
    )

    expect(waiting).to.deep.equal([])
    expect(released).to.deep.equal([{ kind: 'promise', epoch: 2 }])
  })

  it('follows its successor at once when it has led: what it granted before is over', () => {
    const core = newCore('a')
    core.step({ kind: 'configured', configuration: TWO }, 1)
    core.step({ kind: 'promised', epoch: 1 }, 1)
    core.step({ kind: 'proposed', entries: [entry(1)] }, 1)
    core.step({ kind: 'durable', position: entry(1) }, 1)
    const successor = { node: 'b', incarnation: 1 }
    const configuration = { ...TWO, revision: 2, epoch: 2, leader: successor }
    core.step({ kind: 'configured', configuration }, 2)
    const head = { kind: 'append', epoch: 2, previous: entry(1), entries: [] } as const
    const message = { ...head, committed: 0, sentMs: 2, logEnd: 1, closed: undefined }

    const effects = core.step({ kind: 'received', from: successor, message }, 3)

    expect(effects).to.deep.equal([{ kind: 'promise', epoch: 2 }])
  })

  it('tells its followers what is committed when it begins to serve', () => {
    const core = newLeader()

    const effects = acknowledge(core, 1)

    expect(kindsOf(effects)).to.deep.equal(['commit', 'serve', 'replicate'])
    expect(effects.at(-1)).to.have.nested.include({ 'order.committed': 1, 'order.isNews': true })
  })

  it('follows nobody before the control plane has told it which epoch there is', () => {
    const start = { log: new LogIndex(START), promised: 1, committed: 0 }
    const self = { node: 'b', incarnation: 2 }
    const core = new ReplicaCore({ self, timing: REPLICATION_TIMING, ...start })
    const from = { node: 'a', incarnation: 1 }
    const message = { kind: 'ping', epoch: 1, round: 1 } as const

    expect(core.step({ kind: 'received', from, message }, AWAKE_MS)).to.deep.equal([])

    const configuration = { ...TWO, revision: 7, epoch: 4 }
    core.step({ kind: 'configured', configuration }, AWAKE_MS)
    const told = core.step({ kind: 'received', from, message }, AWAKE_MS)
    const stale = { kind: 'stale', epoch: 4 }
    expect(told).to.deep.equal([{ kind: 'send', to: 'a', message: stale }])
  })

  it('abdicates when another replica has a committed entry that it lacks', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const from = { node: 'b', incarnation: 1 }
    const held = { sequence: 3, epoch: 1, crc: 7 }
    const message = { kind: 'refused', epoch: 1, held, isCommitted: true } as const

    const effects = core.step({ kind: 'received', from, message }, AWAKE_MS)

    expect(kindsOf(effects)).to.deep.equal(['contradicted', 'change'])
    expect(effects[1]).to.have.nested.include({ 'change.kind': 'abdicate' })
    expect(core.admission).to.equal('starting')
    core.step({ kind: 'proposed', entries: [entry(2)] }, AWAKE_MS)
    core.step({ kind: 'durable', position: entry(2) }, AWAKE_MS)
    expect(kindsOf(acknowledge(core, 2))).to.not.include('commit')
    const read = core.step({ kind: 'read_asked', token: 1, isHeard: false }, AWAKE_MS)
    expect(kindsOf(read)).to.deep.equal(['refuse_read'])
  })

  it('leads on when the entry that another one holds is its own, or may be no part of the log', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const from = { node: 'b', incarnation: 1 }
    const own = { kind: 'refused', epoch: 1, held: entry(1), isCommitted: true } as const
    const other = { ...own, held: { sequence: 2, epoch: 1, crc: 7 }, isCommitted: false }

    for (const message of [own, other]) {
      expect(core.step({ kind: 'received', from, message }, AWAKE_MS)).to.deep.equal([])
    }
    expect(core.admission).to.equal('open')
  })

  it('takes an abdicated leader out of the set, unless nobody else is in it', () => {
    const change = { operation: 'o', epoch: 1, revision: 1, kind: 'abdicate' } as const
    const replica = { node: 'a', incarnation: 1 }
    const alone = { ...TWO, inSync: [replica] }

    const after = changedConfiguration(TWO, { ...change, replica })
    expect(after).to.deep.include({ leader: undefined, inSync: TWO.inSync.slice(1), eligible: [] })
    const kept = changedConfiguration(alone, { ...change, replica })
    expect(kept).to.deep.include({ leader: undefined, inSync: [replica], eligible: [] })
  })

  it('refuses its leader instead of truncating a committed entry, and keeps what it has', () => {
    const core = newCore('b', [entry(1), entry(2)])
    const from = { node: 'a', incarnation: 1 }
    const sent = { previous: START, sentMs: 5, logEnd: 2, closed: undefined }
    const head = { kind: 'append', ...sent } as const
    const entries = [entry(1), entry(2)]
    const first = { ...head, epoch: 2, entries, committed: 2 } as const
    core.step({ kind: 'received', from, message: first }, AWAKE_MS)
    core.step({ kind: 'promised', epoch: 2 }, AWAKE_MS)
    core.step({ kind: 'received', from, message: first }, AWAKE_MS)
    const other = { ...first, entries: [entry(1), entry(2, 2)] }

    const effects = core.step({ kind: 'received', from, message: other }, AWAKE_MS)

    const held = { sequence: 2, epoch: 1, crc: entry(2).crc }
    const message = { kind: 'refused', epoch: 2, held, isCommitted: true }
    expect(effects.at(-1)).to.deep.equal({ kind: 'send', to: 'a', message })
    expect(kindsOf(effects)).to.deep.equal(['refuse', 'send'])
    expect(core.last.crc).to.equal(held.crc)
  })

  it('stops leading, and releases its followers, when it hears of a newer epoch', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const next = { ...TWO, revision: 2, epoch: 2, leader: { node: 'b', incarnation: 1 } }

    const effects = core.step({ kind: 'configured', configuration: next }, AWAKE_MS)

    expect(effects).to.deep.equal([
      { kind: 'send', to: 'b', message: { kind: 'release', epoch: 1 } },
      { kind: 'stop_leading', epoch: 1 },
    ])
    expect(core.admission).to.equal('not_leader')
  })

  it('gives its leadership up when its machine cannot serve, as soon as another may lead', () => {
    const core = newLeader()
    const effects = core.step({ kind: 'unfit', epoch: 1 }, AWAKE_MS)

    const change = effects.find((effect) => effect.kind === 'change')?.change
    const self = { node: 'a', incarnation: 1 }
    expect(change).to.include({ kind: 'resign', revision: 1 }).and.deep.include({ replica: self })
    const resigned = change && changedConfiguration(TWO, change)
    expect(resigned).to.deep.include({
      leader: undefined,
      inSync: [TWO.inSync[1]],
      eligible: [self],
    })
    if (resigned === undefined) return
    const configuration = { ...resigned, revision: 2 }
    expect(kindsOf(core.step({ kind: 'configured', configuration }, AWAKE_MS))).to.include(
      'stop_leading',
    )
  })

  it('does not resign while nobody else is in sync, nor for an earlier epoch', () => {
    const core = newLeader()
    expect(core.step({ kind: 'unfit', epoch: 0 }, AWAKE_MS)).to.deep.equal([])
    const alone = { ...TWO, revision: 2, inSync: TWO.inSync.slice(0, 1) }
    core.step({ kind: 'configured', configuration: alone }, AWAKE_MS)

    expect(kindsOf(core.step({ kind: 'unfit', epoch: 1 }, AWAKE_MS))).not.to.include('change')

    const again = { ...TWO, revision: 3 }
    core.step({ kind: 'configured', configuration: again }, AWAKE_MS)
    expect(kindsOf(core.step({ kind: 'ticked' }, AWAKE_MS))).to.include('change')
  })

  it('counts no grant that was asked for before its machine slept', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const read = { kind: 'read_asked', token: 1, isHeard: false } as const
    expect(kindsOf(core.step(read, AWAKE_MS + 10))).to.deep.equal(['read'])

    core.step({ kind: 'slept' }, AWAKE_MS + 10)
    acknowledge(core, 1, AWAKE_MS + 11) // sent before
    core.step({ kind: 'beat_answered', node: 'b', sentMs: AWAKE_MS + 5 }, AWAKE_MS + 11)

    expect(kindsOf(core.step(read, AWAKE_MS + 12))).to.deep.equal(['send'])
    core.step({ kind: 'beat_answered', node: 'b', sentMs: AWAKE_MS + 13 }, AWAKE_MS + 14)
    expect(kindsOf(core.step(read, AWAKE_MS + 15))).to.deep.equal(['read'])
  })
})
