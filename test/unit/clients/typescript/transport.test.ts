// What the client makes of servers that fail.

import { expect } from 'chai'
import {
  ConflictError,
  ConnectionError,
  InvalidArgumentError,
  OverloadedError,
  QuarryError,
  ServiceError,
} from '../../../../clients/typescript/src/errors.ts'
import { InferenceClient } from '../../../../clients/typescript/src/inference-client.ts'
import { StoreClient } from '../../../../clients/typescript/src/store-client.ts'
import { errorOf } from '../../../support/error-of.ts'
import { answering, breakingOff, ScriptedServer } from '../../../support/servers/scripted-server.ts'

const RETRIES = { attemptsMax: 3, firstDelayMs: 1 }
const COUNTS = { inserted: 1, deleted: 0, transformed: 0 }
const WRITE = { inserts: { a: { n: 1 } } }
const overloaded = answering(503, { error: 'too much', code: 'OVERLOADED' }, { 'retry-after': '0' })

function clientOf({ url }: ScriptedServer, timeoutMs = 60_000): StoreClient {
  return new StoreClient({ baseUrl: url, retries: RETRIES, timeoutMs })
}

describe('the client', () => {
  it('names a base URL without a scheme, and what to write', () => {
    for (const baseUrl of ['localhost:8080', '127.0.0.1:8080', 'ftp://a']) {
      expect(() => new StoreClient({ baseUrl })).to.throw(
        TypeError,
        `"${baseUrl}" is not an http address; begin it with http://`,
      )
    }
  })

  it('sends a write again under the same idempotency key when the connection breaks', async () => {
    await using server = await ScriptedServer.start([
      breakingOff(),
      breakingOff('{"inser'),
      answering(201, COUNTS),
    ])

    const counts = await clientOf(server).batchWrite('books', WRITE)

    expect(counts).to.deep.equal(COUNTS)
    expect(server.received).to.have.length(3)
    const keys = new Set(server.received.map(({ headers }) => headers['idempotency-key']))
    expect([...keys])
      .to.have.length(1)
      .and.to.satisfy(([key]: string[]) => key!.length > 20)
  })

  it('uses another idempotency key for another write', async () => {
    await using server = await ScriptedServer.start([answering(201, COUNTS)])
    const client = clientOf(server)

    await client.batchWrite('books', WRITE)
    await client.batchWrite('books', WRITE)
    await client.batchWrite('books', WRITE, { idempotencyKey: 'mine' })

    const keys = server.received.map(({ headers }) => headers['idempotency-key'])
    expect(new Set(keys).size).to.equal(3)
    expect(keys[2]).to.equal('mine')
  })

  it('does not send a write without a key again when the connection breaks', async () => {
    await using server = await ScriptedServer.start([breakingOff()])

    const error = await errorOf(() =>
      clientOf(server).batchWrite('books', WRITE, { idempotencyKey: false }),
    )

    expect(error).to.be.instanceOf(ConnectionError)
    expect(server.received.map(({ headers }) => headers['idempotency-key'])).to.deep.equal([
      undefined,
    ])
  })

  it('does not create a table again when the connection breaks', async () => {
    await using server = await ScriptedServer.start([breakingOff()])

    expect(await errorOf(() => clientOf(server).createTable('books'))).to.be.instanceOf(
      ConnectionError,
    )
    expect(server.received).to.have.length(1)
  })

  it('repeats a request that the server refuses for lack of room, and gives up in the end', async () => {
    await using server = await ScriptedServer.start([overloaded])

    const error = await errorOf(() => clientOf(server).createTable('books'))

    expect(error).to.be.instanceOf(OverloadedError).and.to.include({ status: 503, retryAfterMs: 0 })
    expect(server.received).to.have.length(3)
  })

  it('reports the version that changed', async () => {
    const conflict = { table: 'books', key: 'a', message: 'version changed' }
    const body = { status: 'aborted', conflict, error: 'key "a" changed', code: 'CONFLICT' }
    await using server = await ScriptedServer.start([answering(409, body)])

    const error = await errorOf(() => clientOf(server).commitTransaction({ read_set: [] }))

    expect(error).to.be.instanceOf(ConflictError).and.to.deep.include({ conflict })
    expect(server.received).to.have.length(1)
  })

  it('passes on codes of later servers and answers of other servers', async () => {
    await using server = await ScriptedServer.start([
      answering(418, { error: 'short and stout', code: 'TEAPOT' }),
      answering(502, '<html>bad gateway</html>'),
    ])

    const later = await errorOf(() => clientOf(server).getStatus())
    const foreign = await errorOf(() => clientOf(server).getStatus())

    expect(later).to.be.instanceOf(ServiceError).and.to.include({ code: 'TEAPOT', status: 418 })
    expect(foreign).to.include({ code: 'HTTP_502', body: '<html>bad gateway</html>' })
  })

  it('rejects a success that is not JSON with an error of its own', async () => {
    await using server = await ScriptedServer.start([
      (response) => response.writeHead(200, { 'content-type': 'text/html' }).end('<html>'),
    ])
    const client = clientOf(server)
    const calls: Readonly<Record<string, () => Promise<unknown>>> = {
      getStatus: () => client.getStatus(),
      listNodes: () => client.listNodes(),
      lookupDocument: () => client.lookupDocument('books', 'a'),
      queryTable: () => client.queryTable('books', {}),
      batchWrite: () => client.batchWrite('books', WRITE),
      scanTable: () => Array.fromAsync(client.scanTable('books')),
    }
    for (const [name, call] of Object.entries(calls)) {
      const error = await errorOf(call)
      expect(error, name).to.be.instanceOf(QuarryError)
      expect(error, name).to.have.property('message').that.contains('not JSON')
    }
  })

  it('ends a scan that breaks off with an error, and never begins it again', async () => {
    await using server = await ScriptedServer.start([breakingOff('{"key":"a"}\n{"key":')])
    const keys: string[] = []

    const error = await errorOf(async () => {
      for await (const { key } of clientOf(server).scanTable('books')) keys.push(key)
    })

    expect(keys).to.deep.equal(['a'])
    expect(error).to.be.instanceOf(ConnectionError)
    expect(server.received).to.have.length(1)
  })

  it('throws the error that a scan ends with', async () => {
    const lines = '{"key":"a","error":"x","code":"y"}\n{"error":"gone","code":"INVALID_ARGUMENT"}\n'
    await using server = await ScriptedServer.start([answering(200, lines)])
    const keys: string[] = []

    const error = await errorOf(async () => {
      for await (const { key } of clientOf(server).scanTable('books')) keys.push(key)
    })

    expect(keys).to.deep.equal(['a'])
    expect(error).to.be.instanceOf(InvalidArgumentError).and.to.have.property('message', 'gone')
  })

  it('waits no longer than its time limit', async () => {
    await using server = await ScriptedServer.start([() => undefined])

    const error = await errorOf(() => clientOf(server, 300).getStatus())

    expect(error).to.be.instanceOf(ConnectionError)
    expect(String(error)).to.include('no answer within 300 ms')
    expect(server.received).to.have.length(3)
  })

  it('stops at once when its caller aborts, with the reason of the caller', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    await using server = await ScriptedServer.start([() => controller.abort(reason)])

    const { signal } = controller
    const error = await errorOf(() => clientOf(server).getStatus({ signal }))

    expect(error).to.equal(reason)
    expect(server.received).to.have.length(1)
  })

  it('stops waiting for the next attempt when its caller aborts', async () => {
    const controller = new AbortController()
    const reason = new Error('enough')
    await using server = await ScriptedServer.start([
      (response) => {
        overloaded(response)
        setImmediate(() => controller.abort(reason))
      },
    ])
    const retries = { attemptsMax: 2, firstDelayMs: 1e6, delayMsMax: 1e6 }
    const client = new StoreClient({ baseUrl: server.url, retries })

    expect(await errorOf(() => client.getStatus({ signal: controller.signal }))).to.equal(reason)
  })

  it('asks another node when the one that it asked is gone, and stays there', async () => {
    await using gone = await ScriptedServer.start([breakingOff()])
    await using other = await ScriptedServer.start([answering(201, COUNTS)])
    const client = new StoreClient({ baseUrl: [gone.url, other.url], retries: RETRIES })

    await client.batchWrite('books', WRITE)
    await client.batchWrite('books', WRITE)

    expect(gone.received).to.have.length(1)
    const [first, ...others] = other.received
    expect(others).to.have.length(1)
    expect(first?.headers['idempotency-key']).to.equal(gone.received[0]?.headers['idempotency-key'])
  })

  it('comes back to the first node after the last one', async () => {
    const unavailable = answering(
      503,
      { error: 'ends', code: 'UNAVAILABLE' },
      { 'retry-after': '0' },
    )
    await using first = await ScriptedServer.start([unavailable, answering(201, COUNTS)])
    await using second = await ScriptedServer.start([unavailable])
    const client = new StoreClient({ baseUrl: [first.url, second.url], retries: RETRIES })

    const counts = await client.batchWrite('books', WRITE)

    expect(counts).to.deep.equal(COUNTS)
    expect([first.received.length, second.received.length]).to.deep.equal([2, 1])
  })

  it('refuses a list of no servers', () => {
    expect(() => new StoreClient({ baseUrl: [] })).to.throw(TypeError, 'name one server')
  })

  it("parses JSON with the caller's codec", async () => {
    await using server = await ScriptedServer.start([
      answering(200, '{"n":9007199254740993}', { 'x-service-version': '7' }),
    ])
    const client = new StoreClient({
      baseUrl: server.url,
      json: {
        parse: (text) => JSON.parse(text.replace(/\d{16,}/, '"$&"')),
        stringify: JSON.stringify,
      },
    })

    const found = await client.lookupDocument('books', 'a')

    expect(found).to.deep.equal({ document: { n: '9007199254740993' }, version: '7' })
  })

  it('reports why an inference server is not ready', async () => {
    const body = { status: 'not_ready', models: {}, loaded: [], preload: [], skipped: [] }
    await using server = await ScriptedServer.start([answering(503, body)])
    const client = new InferenceClient({ baseUrl: server.url, retries: RETRIES })

    expect(await client.getReadiness()).to.deep.equal(body)
    expect(server.received).to.have.length(1)
  })
})
