// `quarry cluster` against the real API over a real controller core: see test/support/fakes/steered-cluster.ts.

import { stripVTControlCharacters } from 'node:util'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { ManualClock } from '../../lib/clock.ts'
import { ServiceError } from '../../lib/errors.ts'
import { ControlledCluster } from '../../node/steering/controlled-cluster.ts'
import { startApi, type Api } from '../contract/api-harness.ts'
import { SteeredCluster } from '../support/fakes/steered-cluster.ts'
import type { SwarmHarness } from '../support/servers/swarm-harness.ts'
import { runCommand, type CliRun, type CliSetting } from './cli-session.ts'

const NODES = ['7c1e42aa-one', '2b6f0a54-two', '51c9d7f8-three', 'e0d35b0c-four'] as const
const [ONE, TWO, THREE, FOUR] = NODES

/** Whenever a command sleeps, the cluster does a little of its work. */
class WorkingClock extends ManualClock {
  readonly #work: () => void

  constructor(work: () => void) {
    super()
    this.#work = work
  }

  override sleep(ms: number, signal?: AbortSignal): Promise<void> {
    if (signal?.aborted === true) return Promise.reject(signal.reason)
    this.advance(ms)
    this.#work()
    return Promise.resolve()
  }
}

describe('quarry cluster', () => {
  let control: SteeredCluster
  let harness: SwarmHarness
  let api: Api
  let shard: string

  beforeEach(async () => {
    control = new SteeredCluster(NODES)
    api = await startApi({
      clusterOf: (opened) => {
        harness = opened
        return new ControlledCluster({
          control,
          registry: opened.registry,
          lags: control.lags,
          leftovers: control.leftovers,
          recover: control.recover,
          clock: systemClock,
        })
      },
    })
    await api.send({ method: 'POST', path: '/api/v1/tables/books', body: '{"num_shards":4}' })
    for (const { tableId, shards } of harness.registry.tables()) {
      for (const { id } of shards) control.addShard(`${tableId}/${id}`, [ONE, TWO, THREE])
    }
    shard = harness.registry.get('books').shards[0]?.id ?? ''
  })

  afterEach(() => api[Symbol.asyncDispose]())

  function run(args: readonly string[], setting: Partial<CliSetting> = {}): Promise<CliRun> {
    const clock = new WorkingClock(() => control.step())
    return runCommand(['cluster', ...args], { url: api.url, ...setting }, clock)
  }

  it('nodes lists what each node holds, by ids that are short and distinct', async () => {
    const { exitCode, stdout } = await run(['nodes'])

    const [header, ...rows] = stdout.trimEnd().split('\n')
    expect(exitCode).to.equal(0)
    expect(header).to.match(
      /^NODE +STATE +API +VERSION +REPLICAS +LEADERS +IN +OUT +DISK FREE +SAFE TO STOP/,
    )
    expect(rows).to.have.length(4)
    expect(rows.find((row) => row.startsWith('7c1e42aa '))).to.match(
      /serving .* 4 +4 +0 +0 +- +yes$/,
    )
  })

  it('nodes --json prints a node on each line', async () => {
    const { stdout } = await run(['nodes', '--json'])

    const nodes = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line))
    expect(nodes.map(({ id }) => id)).to.have.members([...NODES])
  })

  it('shards lists leaders, followers and troubles', async () => {
    control.leave(TWO)
    const all = await run(['shards', '--table', 'books'])
    const none = await run(['shards', '--trouble', 'leaderless'])
    const wrong = await run(['shards', '--trouble', 'sad'])

    expect(all.stdout.split('\n')[1]).to.match(
      /^books +[0-9a-f]{16} +7c1e42aa +1 +3\/3 +\+2b6f0a54 \+51c9d7f8 +-/,
    )
    expect(none.stdout).to.equal('no such shards\n')
    expect(wrong.exitCode).to.equal(2)
  })

  it('nodes says how old the list is while no controller reports', async () => {
    control.failure = new ServiceError('UNAVAILABLE', 'etcd has no quorum')

    const { exitCode, stdout } = await run(['nodes'])

    const lines = stdout.trimEnd().split('\n')
    expect([exitCode, lines.length, lines.at(-1)]).to.deep.equal([
      0,
      6,
      'as the asked node knew them 1 s ago: etcd has no quorum',
    ])
    const json = await run(['nodes', '--json'])
    expect(json.stdout.trimEnd().split('\n')).to.have.length(4)
    expect(json.stderr).to.equal('as the asked node knew them 1 s ago: etcd has no quorum\n')
  })

  it('recover asks the node, prints what was decided, and is harmless to repeat', async () => {
    const first = await run(['recover', '--without', `${TWO},51c9`])
    const again = await run(['recover'])
    const both = await run(['recover', '--url', api.url, '--etcd', 'http://127.0.0.1:1'])

    expect([first.exitCode, again.exitCode, both.exitCode]).to.deep.equal([0, 0, 2])
    expect(control.leftOut).to.deep.equal([[TWO, '51c9'], []])
    const [table, known, gone] = ['t'.repeat(16), 'a'.repeat(16), 'b'.repeat(16)]
    expect(first.stdout.trimEnd().split('\n')).to.deep.equal([
      `${table}/${known}: epoch 8, as node n1 knew it; in sync n1`,
      `${table}/${gone}: etcd does not know it any more; its replicas stay on the disks`,
      'Recovery 1: 1 shards, as 2 nodes reported them. The nodes continue.',
    ])
    expect(again.stdout).to.equal(
      'No node waits before an older etcd: nothing was changed. Recovery 1 was the last.\n',
    )
  })

  it('collect lists what belongs to no table, and removes what is named', async () => {
    const [left, other] = ['a'.repeat(16), 'b'.repeat(16)]
    control.leftAt.set(TWO, [left, other])

    const listed = await run(['collect', '2b6f'])
    const removed = await run(['collect', '2b6f', left])
    const empty = await run(['collect', '2b6f', other])

    expect(listed.stdout).to.equal(`${left} belongs to no table\n${other} belongs to no table\n`)
    expect(removed.stdout).to.equal(`removed ${left}\n${other} belongs to no table\n`)
    expect(empty.stdout).to.equal(`removed ${other}\n`)
    expect((await run(['collect', '2b6f'])).stdout).to.equal('nothing is left over\n')
  })

  it('drain shows its progress, and ends when the node holds nothing', async () => {
    const { exitCode, stdout, stderr } = await run(['drain', '7c1e'])

    expect(stdout).to.equal(`node ${ONE} holds nothing; it may be stopped\n`)
    expect(exitCode).to.equal(0)
    expect(stderr).to.match(/4 replicas left, 4 leaders left, \d moving/)
    expect((await run(['nodes'])).stdout).to.match(/7c1e42aa +drained/)
  })

  it('drain --no-wait ends at once, and undrain takes it back', async () => {
    const begun = await run(['drain', ONE, '--no-wait'])
    const shown = await run(['nodes'])
    const back = await run(['undrain', '7c1e'])

    expect(begun.stdout).to.include('is being emptied, 4 replicas to go')
    expect(shown.stdout).to.match(/7c1e42aa +draining/)
    expect(back.stdout).to.equal(`node ${ONE} is in use\n`)
  })

  it('drain and undrain by an operation keep others out', async () => {
    const drained = await run(['drain', '7c1e', '--no-wait', '--operation-id', 'a'])
    const other = await run(['undrain', '7c1e', '--operation-id', 'b'])
    const back = await run(['undrain', '7c1e', '--operation-id', 'a'])

    expect([drained.exitCode, other.exitCode, back.exitCode]).to.deep.equal([0, 1, 0])
    expect(other.stderr).to.include('is draining by the operation a, and not by b')
  })

  it('hand-over waits until the node leads nothing, and says until when it is held', async () => {
    const { exitCode, stdout } = await run(['hand-over', '7c1e', '--hold', '600'])
    const listed = await run(['nodes', '--json'])
    const refused = await run(['hand-over', '7c1e', '--hold', '601'])

    expect(exitCode).to.equal(0)
    expect(stdout).to.match(/^node 7c1e42aa\S+ leads nothing, until 1970-\S+; it may be stopped/)
    expect(listed.stdout).to.include('"hold":{"until":"1970-')
    expect(refused.exitCode).to.equal(2)
  })

  it('hand-over says that the node leads what nobody else can', async () => {
    await control.requestOfNode({ kind: 'hand_over', node: TWO, holdMs: 600_000 })
    control.leave(THREE)
    const { exitCode, stderr } = await run(['hand-over', '7c1e', '--hold', '30'])

    expect(exitCode).to.equal(1)
    expect(stderr).to.include('still leads 4 shards, and is not held any more')
  })

  it('drain says why it waits, and that somebody else ended it', async () => {
    control.leave(TWO)
    control.leave(FOUR)
    let rounds = 0
    const clock = new WorkingClock(() => {
      control.step()
      rounds += 1
      if (rounds === 20) void control.requestOfNode({ kind: 'undrain', node: ONE })
    })

    const { exitCode, stderr } = await runCommand(['cluster', 'drain', ONE], api, clock)

    expect(exitCode).to.equal(1)
    expect(stderr).to.match(/waiting: too few nodes: 1 serve, and 3 replicas are wanted/)
    expect(stderr).to.include('somebody else changed it meanwhile')
  })

  it('decommission needs --yes without a terminal', async () => {
    const asked = await run(['decommission', FOUR])
    const done = await run(['decommission', FOUR, '--yes'])
    const late = await run(['undrain', FOUR])

    expect(asked.exitCode).to.equal(2)
    expect(done.stdout).to.equal(`node ${FOUR} holds nothing; it may be stopped for good\n`)
    expect([late.exitCode, late.stderr]).to.deep.equal([
      1,
      `error: ${FOUR} is decommissioned; start it over an empty data directory\n`,
    ])
  })

  it('move waits until the replica is there, and transfer-leader until it leads', async () => {
    const moved = await run(['move', shard, '--from', '2b6f', '--to', 'e0d3'])
    const led = await run(['transfer-leader', shard, '--to', 'e0d3'])
    const json = await run(['transfer-leader', shard, '--to', 'e0d3', '--json'])

    expect(moved.stderr).to.match(/2b6f0a54 → e0d35b0c: catching up/)
    expect(moved.stdout).to.equal(
      `the replica of shard ${shard} is on ${FOUR}, and no longer on ${TWO}\n`,
    )
    expect(led.stdout).to.equal(`${FOUR} leads shard ${shard}\n`)
    expect(JSON.parse(json.stdout)).to.deep.equal({ shard, to: FOUR, done: true })
  })

  it('refusals have the sentence of the controller, and exit code 1', async () => {
    const there = await run(['move', shard, '--from', TWO, '--to', THREE])
    const unknown = await run(['drain', 'ffff'])

    expect([there.exitCode, there.stderr]).to.deep.equal([
      1,
      `error: ${THREE} holds a replica of it already\n`,
    ])
    expect(unknown.stderr).to.include('see them with: quarry cluster nodes')
    expect((await run(['move', shard])).exitCode).to.equal(2)
  })

  it('a wait survives a control plane that does not answer for a while', async () => {
    const error = new ServiceError('UNAVAILABLE', 'no controller is elected')
    let rounds = 0
    const clock = new WorkingClock(() => {
      control.step()
      rounds += 1
      control.failure = rounds < 20 ? error : undefined
    })

    const { exitCode, stderr } = await runCommand(['cluster', 'drain', ONE], api, clock)

    expect(exitCode).to.equal(0)
    expect(stderr).to.include('waiting for the server: no controller is elected')
  })

  it('a wait gives up when the control plane has not answered for a minute', async () => {
    const clock = new WorkingClock(() => {
      control.failure = new ServiceError('UNAVAILABLE', 'no controller is elected')
    })

    const { exitCode, stderr } = await runCommand(['cluster', 'drain', ONE], api, clock)

    expect([exitCode, stderr.split('\n').at(-2)]).to.deep.equal([
      1,
      'error: no controller is elected',
    ])
  })

  it('fits a terminal, in colours', async () => {
    await api.send({ method: 'POST', path: `/api/v1/cluster/nodes/${TWO}/drain` })
    const screen = { isTty: true, color: true, columns: 90 }

    const nodes = await run(['nodes'], screen)

    const lines = stripVTControlCharacters(nodes.stdout).split('\n')
    expect(Math.max(...lines.map((line) => line.length))).to.be.at.most(90)
    expect(nodes.stdout).to.include('\u001b[33mdraining\u001b[0m')
    expect(nodes.stdout).to.include('\u001b[32mserving\u001b[0m')
  })
})
