// Rule L3 with a real etcd and a real process: a long turn of the event loop costs no lease, and a loop that
// hangs does.

import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { must } from '../../lib/assert.ts'
import { systemClock } from '../../lib/clock.ts'
import type { Coordination } from '../../node/coordination/coordination.ts'
import { openEtcdCoordination } from '../../node/coordination/etcd/open-etcd-coordination.ts'
import { EtcdCluster } from '../support/processes/etcd-cluster.ts'
import { until } from '../support/until.ts'

const OWNER = fileURLToPath(new URL('../support/processes/lease-owner.ts', import.meta.url))
const TTL_SECONDS = 5

/** A process that blocks when it is told to. */
class LeaseOwner implements AsyncDisposable {
  readonly #process: ChildProcessWithoutNullStreams
  readonly #lines: AsyncIterator<string>

  private constructor(endpoint: string) {
    this.#process = spawn(process.execPath, [OWNER, endpoint, `${TTL_SECONDS}`])
    this.#process.stderr.pipe(process.stderr)
    this.#lines = createInterface({ input: this.#process.stdout })[Symbol.asyncIterator]()
  }

  static async start(endpoint: string): Promise<LeaseOwner> {
    const owner = new LeaseOwner(endpoint)
    expect(await owner.#line()).to.equal('held')
    return owner
  }

  /** Answers whether the process holds its lease after its loop was blocked for so long. */
  async block(ms: number): Promise<boolean> {
    this.#process.stdin.write(`${ms}\n`)
    return (await this.#line()) === 'true'
  }

  async #line(): Promise<string> {
    const { value } = await this.#lines.next()
    return must<string>(value, 'a line of the process')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#process.kill('SIGKILL')
    await once(this.#process, 'exit')
  }
}

describe('a lease whose owner blocks its event loop', function () {
  this.timeout(100_000)
  let etcd: EtcdCluster
  let observer: Coordination
  before(async () => {
    etcd = await EtcdCluster.start({ members: 1 })
    observer = await openEtcdCoordination({
      endpoints: etcd.directEndpoints,
      cluster: 'blocked',
      owner: 'observer',
      clock: systemClock,
      random: Math.random,
    })
  })
  after(async () => {
    await observer.close()
    await etcd[Symbol.asyncDispose]()
  })

  const isThere = async (): Promise<boolean> => (await observer.get('/owner')) !== undefined

  it('stays while the loop moves now and then, and goes when it hangs for longer than the TTL', async () => {
    await using owner = await LeaseOwner.start(must(etcd.directEndpoints[0], 'an endpoint'))

    // Longer turns than a lease outlives that the loop itself renews: it may be due when they begin.
    for (let turn = 0; turn < 4; turn++) {
      expect(await owner.block(0.6 * TTL_SECONDS * 1000), `turn ${turn}`).to.equal(true)
      expect(await isThere()).to.equal(true)
    }

    const blocking = owner.block(3 * TTL_SECONDS * 1000)
    let isBlocked = true
    void blocking.then(() => {
      isBlocked = false
    })
    await until(async () => !(await isThere()))
    expect(isBlocked, 'etcd ends the lease while the loop hangs').to.equal(true)
    expect(await blocking).to.equal(false)
  })
})
