import { expect } from 'chai'
import type { Log } from '../../../../../lib/log.ts'
import { silentLog } from '../../../../../lib/log.ts'
import { TableNews } from '../../../../../node/replicas/tables/table-news.ts'
import type { PeerLink } from '../../../../../node/peer/peer.ts'
import { openMemoryWorld, type PeerWorld } from '../../../../support/peer/peer-world.ts'

/** Three nodes that know of changed tables when the test says so. */
class Newsroom {
  readonly warned: string[] = []
  /** The tables that were told to `b` and `c`, and what lets them answer. */
  readonly told: { readonly node: string; readonly table: string; answer(): void }[] = []
  readonly links = new Map<string, PeerLink>()
  readonly news = this.#newsOf('a')

  static async open(world: PeerWorld): Promise<Newsroom> {
    const room = new Newsroom()
    const source = await world.open({ nodeId: 'a' })
    for (const nodeId of ['b', 'c']) {
      const node = await world.open({ nodeId, handlers: room.#newsOf(nodeId).handlers() })
      room.links.set(nodeId, source.link(await world.addressOf(node)))
    }
    return room
  }

  #newsOf(node: string): TableNews {
    const warn: Log['warn'] = (message, fields) =>
      this.warned.push(`${message} ${String(fields?.['node'])}`)
    return new TableNews({
      nodes: () => ['b', 'c'],
      linkTo: (to) => this.links.get(to),
      reach: (table) => new Promise((answer) => this.told.push({ node, table, answer })),
      log: { ...silentLog, warn },
    })
  }
}

describe('news of tables', () => {
  it('are told when all nodes serve the table', async () => {
    await using world = openMemoryWorld()
    const room = await Newsroom.open(world)
    let isTold = false
    const telling = room.news.tell('bücher').then(() => (isTold = true))

    await world.until(() => room.told.length === 2)
    const [first, second] = room.told
    first?.answer()
    const early = isTold
    second?.answer()
    await world.until(() => isTold)
    await telling

    expect(early).to.equal(false)
    expect(room.told.map(({ node, table }) => `${node} ${table}`).toSorted()).to.deep.equal([
      'b bücher',
      'c bücher',
    ])
    expect(room.warned).to.deep.equal([])
  })

  it('do not wait long for a node that does not answer, and say which one', async () => {
    await using world = openMemoryWorld()
    const room = await Newsroom.open(world)
    let isTold = false
    void room.news.tell('books').then(() => (isTold = true))

    await world.until(() => room.told.length === 2)
    room.told.find(({ node }) => node === 'b')?.answer()
    await world.until(() => isTold)

    expect(room.warned).to.deep.equal(['a node learns of a changed table later c'])
  })
})
