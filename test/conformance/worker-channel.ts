import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect } from 'chai'
import { openWorkerChannel } from '../../inference/runtime/worker-channel.ts'
import type { Isolation, WorkerChannel } from '../../inference/runtime/worker-channel.ts'
import type { FromWorker, ToWorker } from '../../inference/runtime/worker-protocol.ts'
import type { ScriptedWork } from '../support/fakes/scripted-worker.ts'
import { until } from '../support/until.ts'

const ENTRY = new URL('../support/fakes/scripted-worker.ts', import.meta.url)
const SETTINGS = { threads: 3, cores: 5, exactRows: false, alivePeriodMs: 60_000 }
const MODEL = 7
const GIB = 1024 ** 3
const READABLE = fileURLToPath(new URL('../support', import.meta.url))
/** Models that are pulled later. */
const ABSENT = path.join(tmpdir(), `quarry-models-${process.pid}`)

type Seen = FromWorker | { readonly kind: 'exit' }

/** A worker with a model, and all that came from it. */
class Connection {
  readonly channel: WorkerChannel
  readonly seen: Seen[] = []

  constructor(isolation: Isolation) {
    this.channel = openWorkerChannel(
      {
        entry: ENTRY,
        isolation,
        environment: { PATH: process.env['PATH'] },
        readable: [READABLE, ABSENT],
        settings: SETTINGS,
        memoryBytesMax: 4 * GIB,
      },
      {
        onMessage: (message) => void this.seen.push(message),
        onExit: () => void this.seen.push({ kind: 'exit' }),
      },
    )
  }

  static async open(isolation: Isolation): Promise<Connection> {
    const connection = new Connection(isolation)
    await until(async () => connection.seen.some(({ kind }) => kind === 'ready'))
    connection.send({ kind: 'load', call: 1, model: MODEL, spec: 'a spec' })
    await connection.end(1)
    return connection
  }

  send(message: ToWorker): void {
    this.channel.send(message)
  }

  run(call: number, ...items: readonly ScriptedWork[]): void {
    this.send({ kind: 'run', call, model: MODEL, items })
  }

  start(call: number, request: ScriptedWork): void {
    this.send({ kind: 'start', call, model: MODEL, request })
  }

  /** What has come of a call. */
  of(call: number): Seen[] {
    return this.seen.filter((message) => 'call' in message && message.call === call)
  }

  async end(call: number): Promise<Seen | undefined> {
    const isEnd = ({ kind }: Seen): boolean => kind === 'answer' || kind === 'refusal'
    await until(async () => this.of(call).some(isEnd))
    return this.of(call).find(isEnd)
  }

  async exit(): Promise<void> {
    await until(async () => this.seen.some(({ kind }) => kind === 'exit'))
  }
}

/** Every kind of worker must pass. */
export function describeWorkerChannel(isolation: Isolation): void {
  describe(`worker as a ${isolation}: WorkerChannel contract`, () => {
    let connection: Connection

    beforeEach(async () => {
      connection = await Connection.open(isolation)
    })
    afterEach(async () => {
      connection.send({ kind: 'quit' })
      await connection.exit()
    })

    it('reports once that it is ready, with its settings', () => {
      expect(connection.seen).to.deep.equal([
        { kind: 'ready' },
        { kind: 'answer', call: 1, answer: { spec: 'a spec', settings: SETTINGS } },
      ])
    })

    if (isolation === 'process') {
      it('reads the models, where links lead, and no other directory', async () => {
        const data = await mkdtemp(path.join(tmpdir(), 'quarry-data-'))
        const [secret, model, link] = [
          path.join(data, 'secret'),
          path.join(ABSENT, 'model.json'),
          path.join(ABSENT, 'link.json'),
        ]
        try {
          await mkdir(ABSENT, { recursive: true })
          for (const file of [secret, model]) await writeFile(file, 'content')
          await symlink(secret, link)
          const files = [secret, model, link, '/proc/self/environ', fileURLToPath(import.meta.url)]
          connection.run(2, ...files.map((file) => ({ kind: 'read', file }) as const))

          const denied = 'ERR_ACCESS_DENIED'
          const answer = [denied, 'content', 'content', denied, denied]
          expect(await connection.end(2)).to.deep.equal({ kind: 'answer', call: 2, answer })
        } finally {
          for (const folder of [data, ABSENT]) await rm(folder, { recursive: true, force: true })
        }
      })
    }

    it('carries values unchanged, typed arrays among them', async () => {
      const value = {
        vector: Float32Array.of(1, Number.NaN, -0),
        bytes: new Uint8Array([1, 2]).subarray(1),
        ids: BigInt64Array.of(2n ** 60n),
        absent: undefined,
        text: '\ud800 \u0000 é',
      }
      connection.run(2, { kind: 'echo', value })

      expect(await connection.end(2)).to.deep.equal({ kind: 'answer', call: 2, answer: [value] })
    })

    it('gives each call one end, whatever the order of the calls (WP1)', async () => {
      connection.run(2, { kind: 'wait' })
      connection.run(3, { kind: 'refuse' })
      connection.run(4, { kind: 'unsendable' })
      connection.run(5, { kind: 'echo', value: 5 })
      const [refused, failed, answered] = await Promise.all([3, 4, 5].map((c) => connection.end(c)))
      connection.send({ kind: 'cancel', call: 2 })

      const error = { code: 'INVALID_ARGUMENT', message: 'text: it is refused' }
      expect(refused).to.deep.equal({ kind: 'refusal', call: 3, error })
      expect(failed).to.have.nested.property('error.code', 'INFERENCE_FAILED')
      expect(answered).to.deep.equal({ kind: 'answer', call: 5, answer: [5] })
      expect(await connection.end(2)).to.have.nested.property('error.code', 'CANCELLED')
      expect([2, 3, 4, 5].map((call) => connection.of(call).length)).to.deep.equal([1, 1, 1, 1])
    })

    it('delivers events in order and before the end of the call', async () => {
      connection.start(2, { kind: 'count', to: 1000 })
      await connection.end(2)

      const events = Array.from({ length: 1000 }, (_, event) => ({ kind: 'event', call: 2, event }))
      expect(connection.of(2)).to.deep.equal([...events, { kind: 'answer', call: 2, answer: 1000 }])
    })

    it('ignores the cancellation of a call that has ended (WP2)', async () => {
      connection.run(2, { kind: 'echo', value: 2 })
      await connection.end(2)
      connection.send({ kind: 'cancel', call: 2 })
      connection.run(3, { kind: 'echo', value: 3 })
      await connection.end(3)

      expect(connection.of(2)).to.have.length(1)
    })

    it('refuses the running calls when it is told to quit, then ends and reports its exit last', async () => {
      connection.run(2, { kind: 'wait' })
      connection.send({ kind: 'quit' })
      await connection.exit()

      expect(connection.of(2).map(({ kind }) => kind)).to.deep.equal(['refusal'])
      expect(connection.seen.at(-1)).to.deep.equal({ kind: 'exit' })
    })

    it('reports its exit once and last, also after a crash, and ignores later messages', async () => {
      connection.start(2, { kind: 'die', after: 1000 })
      await connection.exit()
      const { length } = connection.seen
      connection.run(3, { kind: 'echo', value: 3 })

      const other = await Connection.open(isolation)
      other.send({ kind: 'quit' })
      await other.exit()
      expect(connection.seen).to.have.length(length)
      expect(connection.seen.at(-1)).to.deep.equal({ kind: 'exit' })
    })
  })
}
