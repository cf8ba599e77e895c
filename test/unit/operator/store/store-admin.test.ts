import { expect } from 'chai'
import type { ServerResponse } from 'node:http'
import { ConflictError, ConnectionError } from '../../../../clients/typescript/src/errors.ts'
import type {
  ClusterNode,
  ClusterStatus,
  NodeList,
} from '../../../../clients/typescript/src/contract/store.v1.ts'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import { HttpStoreAdmin } from '../../../../operator/store/store-admin.ts'
import { storeViewOf } from '../../../../operator/store/store-view.ts'
import { errorOf } from '../../../support/error-of.ts'
import { THIS_PROCESS } from '../../../support/places/this-process.ts'
import { ScriptedServer, type Scene } from '../../../support/servers/scripted-server.ts'

const NODE: ClusterNode = {
  id: 'n1',
  name: 'books-node-1',
  zone: 'a',
  state: 'draining',
  condition: 'emptying',
  incarnation: 4,
  version: '1.2.3',
  replicas: 7,
  leaders: 2,
  moves_in: 0,
  moves_out: 1,
  safe_to_stop: false,
  safe_to_update: false,
  needed_for: 'shard 1 of books',
  operation_id: 'scale-down-7',
  registered_at: '2026-11-01T08:00:00.000Z',
  disk: { total_bytes: 1000, free_bytes: 400 },
  emptying: {
    done: false,
    replicas_left: 7,
    leaders_left: 2,
    moving: 1,
    waiting: [{ table: 'books', shard: '9f3c2a1700000001', reason: 'no other node has room' }],
  },
}
const CLUSTER: ClusterStatus['cluster'] = {
  mode: 'cluster',
  name: 'default.books',
  controller: 'n2',
  nodes: { serving: 2, leaving: 0, emptying: 1, away: 0, lost: 0 },
  shards: {
    total: 9,
    unplaced: 1,
    leaderless: 1,
    below_minimum: 1,
    under_replicated: 2,
    misplaced: 3,
  },
  moves: 1,
  waiting: [],
}
const STATUS: ClusterStatus = {
  health: 'degraded',
  message: 'a node is being emptied',
  auth_enabled: false,
  swarm_mode: false,
  version: '1.2.3',
  tables: 1,
  shards: {},
  documents_behind: 0,
  model_keys: { first: 0, accepted: 0, none: 0, plain: 0 },
  cluster: CLUSTER,
}

function viewOf(cluster: Partial<ClusterStatus['cluster']>, list: Partial<NodeList> = {}) {
  return storeViewOf({
    status: { ...STATUS, cluster: { ...CLUSTER, ...cluster } },
    list: { nodes: [NODE], ...list },
    readAtMs: 5,
  })
}

function json(status: number, body: object): Scene {
  return (response: ServerResponse) => {
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  }
}

describe('the view of a store', () => {
  it('has the shards in trouble, each by its worst one, and what is left on a node', () => {
    const view = viewOf({})

    expect(view.shards).to.deep.equal({ total: 9, underReplicated: 5, unavailable: 3 })
    expect(view.isControlled).to.equal(true)
    expect(view.nodes).to.deep.equal([
      {
        id: 'n1',
        name: 'books-node-1',
        zone: 'a',
        state: 'draining',
        condition: 'emptying',
        version: '1.2.3',
        incarnation: 4,
        replicas: 7,
        leaders: 2,
        safeToStop: false,
        neededFor: 'shard 1 of books',
        operation: 'scale-down-7',
        registeredAt: '2026-11-01T08:00:00.000Z',
        disk: { totalBytes: 1000, freeBytes: 400 },
        emptying: {
          done: false,
          replicasLeft: 7,
          leadersLeft: 2,
          moving: 1,
          waiting: 1,
          waitingFor: 'books: no other node has room',
        },
      },
    ])
  })

  const uncontrolled: Readonly<Record<string, ReturnType<typeof viewOf>>> = {
    'no controller is elected': viewOf({ controller: null }),
    'the control plane does not answer': viewOf({ problem: 'etcd does not answer' }),
    'the asked node is frozen': viewOf({ frozen: true }),
    'the status is old': viewOf({ age_ms: 12 }),
    'the list of nodes is old': viewOf({}, { age_ms: 900, problem: 'etcd does not answer' }),
  }
  for (const [when, view] of Object.entries(uncontrolled)) {
    it(`is of a store that moves nothing when ${when}`, () => {
      expect(view.isControlled).to.equal(false)
      expect(view.controllerProblem).to.be.a('string')
    })
  }

  it('is as old as the older of its answers', () => {
    expect(viewOf({ age_ms: 12 }, { age_ms: 900 }).ageMs).to.equal(900)
    expect(viewOf({}).ageMs).to.equal(0)
  })
})

describe('the admin of a store', () => {
  it('sees a store in swarm mode as one node that is controlled', async () => {
    await using store = await THIS_PROCESS.open()
    const admin = new HttpStoreAdmin({ urls: [store.api], clock: new ManualClock() })

    const view = await admin.look()

    expect(view).to.deep.include({ health: 'healthy', isControlled: true, ageMs: 0 })
    expect(view).to.have.nested.property('nodes[0].state', 'serving')
  })

  const failures: Readonly<Record<string, Scene>> = {
    'refuses for now': json(503, { error: 'not now', code: 'UNAVAILABLE' }),
    'is no store': (response) => response.writeHead(404).end('<html>'),
    'answers something else with success': (response) => response.writeHead(200).end('<html>'),
    'breaks the connection off': (response) => response.destroy(),
  }
  for (const [what, scene] of Object.entries(failures)) {
    it(`calls one unreachable that ${what}`, async () => {
      await using server = await ScriptedServer.start([scene])
      const admin = new HttpStoreAdmin({ urls: [server.url], clock: systemClock })

      expect(await admin.look()).to.equal('unreachable')
    })
  }

  it('asks the next node when one does not answer', async () => {
    await using store = await THIS_PROCESS.open()
    const urls = ['http://127.0.0.1:9', store.api]

    const view = await new HttpStoreAdmin({ urls, clock: systemClock }).look()

    expect(view).to.have.property('health', 'healthy')
  })

  it('steers nodes, each under the id of its operation', async () => {
    await using server = await ScriptedServer.start([json(202, NODE)])
    const admin = new HttpStoreAdmin({ urls: [server.url], clock: systemClock })
    const of = { nodeID: 'n1', operation: 'scale-down-7' }

    await admin.handOver('n1')
    await admin.drain(of)
    await admin.undrain(of)
    await admin.decommission(of)

    const sent = server.received.map(({ method, path, body }) => [method, path, JSON.parse(body)])
    const operation = { operation_id: 'scale-down-7' }
    expect(sent).to.deep.equal([
      ['POST', '/api/v1/cluster/nodes/n1/hand-over', {}],
      ['POST', '/api/v1/cluster/nodes/n1/drain', operation],
      ['POST', '/api/v1/cluster/nodes/n1/undrain', operation],
      ['POST', '/api/v1/cluster/nodes/n1/decommission', operation],
    ])
  })

  it('is refused by name when the node belongs to another operation', async () => {
    const conflict = { error: 'it is of scale-down-6', code: 'CONFLICT' }
    await using server = await ScriptedServer.start([json(409, conflict)])
    const admin = new HttpStoreAdmin({ urls: [server.url], clock: systemClock })

    const error = await errorOf(() => admin.undrain({ nodeID: 'n1', operation: 'scale-down-7' }))

    expect(error).to.be.instanceOf(ConflictError)
  })

  it('takes a node that is forgotten as forgotten, and nothing else', async () => {
    const gone = json(404, { error: 'no such node', code: 'NOT_FOUND' })
    await using server = await ScriptedServer.start([gone, (response) => response.destroy()])
    const admin = new HttpStoreAdmin({ urls: [server.url], clock: systemClock })

    await admin.forget('n1')

    expect(await errorOf(() => admin.forget('n1'))).to.be.instanceOf(ConnectionError)
  })
})
