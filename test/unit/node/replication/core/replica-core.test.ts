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

function newCore(node: string, entries: readonly EntryInfo[] = []): ReplicaCore {
  const core = new ReplicaCore({
    self: { node, incarnation: 1 },
    timing: REPLICATION_TIMING,
    log: new LogIndex(START, entries),
    promised: 0,
    committed: 0,
  })
  core.step({ kind: 'ticked' }, 0)
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

function acknowledge(core: ReplicaCore, durable: number, nowMs = AWAKE_MS): readonly Effect[] {
  const head = { kind: 'appended', epoch: 1, sentMs: AWAKE_MS, logEnd: durable } as const
  const from = { node: 'b', incarnation: 1 }
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

    const soon = core.step({ kind: 'read_asked', token: 1 }, AWAKE_MS + 100)
    const late = core.step({ kind: 'read_asked', token: 2 }, AWAKE_MS * 2)

    expect(soon).to.deep.equal([{ kind: 'read', token: 1 }])
    expect(kindsOf(late)).to.deep.equal(['send'])
    const pong = { kind: 'pong', epoch: 1, round: 1 } as const
    const from = { node: 'b', incarnation: 1 }
    expect(core.step({ kind: 'received', from, message: pong }, AWAKE_MS * 2)).to.deep.equal([
      { kind: 'read', token: 2 },
    ])
  })

  it('refuses writes below the minimum, and serves reads only after asking the control plane', () => {
    const core = newLeader()
    acknowledge(core, 1)
    const alone = { ...TWO, revision: 2, inSync: TWO.inSync.slice(0, 1) }

    core.step({ kind: 'configured', configuration: alone }, AWAKE_MS)

    expect(core.admission).to.equal('under_replicated')
    expect(core.step({ kind: 'read_asked', token: 1 }, AWAKE_MS)).to.deep.equal([
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

  it('halts instead of truncating a committed entry', () => {
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

    expect(kindsOf(effects)).to.deep.equal(['halt'])
    expect(core.haltReason).to.match(/entry|entries/)
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
})
