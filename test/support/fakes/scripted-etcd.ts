// An etcd member of which a test writes the watch's messages: for what a real one says rarely.

import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { ServerDuplexStream } from '@grpc/grpc-js'
import { must } from '../../../lib/assert.ts'
import { ProtoMessage } from '../../../lib/etcd/proto-message.ts'
import { ProtoWriter } from '../../../lib/etcd/proto-writer.ts'
import { until } from '../until.ts'

/** rpc.proto: the answer to a request for progress of all watches has the id -1. */
const ALL_WATCHES = 2n ** 64n - 1n

/** One stream of a client, from the member's side. */
export class ScriptedWatch {
  readonly requests: ProtoMessage[] = []
  readonly #stream: ServerDuplexStream<Buffer, Buffer>

  constructor(stream: ServerDuplexStream<Buffer, Buffer>) {
    this.#stream = stream
    stream.on('data', (request: Buffer) => this.requests.push(new ProtoMessage(request)))
    stream.on('error', () => undefined)
  }

  /** What the watch asked to begin with. */
  get startRevision(): number | undefined {
    return this.requests[0]?.message(1).number(3)
  }

  created(revision: number): void {
    this.send(header(revision).integer(3, 1))
  }

  events(revision: number, keys: readonly string[], { isFragment = false } = {}): void {
    const message = header(revision)
    if (isFragment) message.integer(7, 1)
    for (const key of keys) {
      const stored = new ProtoWriter().text(1, key).integer(2, revision).integer(3, revision)
      message.message(11, new ProtoWriter().message(2, stored))
    }
    this.send(message)
  }

  progress(revision: number, { ofAll }: { readonly ofAll: boolean }): void {
    this.send(ofAll ? header(revision).integer(2, ALL_WATCHES) : header(revision))
  }

  canceled(reason: string, compactRevision = 0): void {
    this.send(header(1).integer(4, 1).integer(5, compactRevision).text(6, reason))
  }

  send(message: ProtoWriter): void {
    this.#stream.write(message.finish())
  }

  end(): void {
    this.#stream.end()
  }
}

/** Listens on 127.0.0.1 and keeps every stream that a client opens. */
export class ScriptedEtcd implements AsyncDisposable {
  readonly watches: ScriptedWatch[] = []
  readonly #server = new Server()
  #port = 0

  static async start(): Promise<ScriptedEtcd> {
    const etcd = new ScriptedEtcd()
    const watch = {
      path: '/etcdserverpb.Watch/Watch',
      requestStream: true,
      responseStream: true,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    } as const
    etcd.#server.addService(
      { watch },
      {
        watch: (stream: ServerDuplexStream<Buffer, Buffer>) => {
          etcd.watches.push(new ScriptedWatch(stream))
        },
      },
    )
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    etcd.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port)
      else reject(error)
    })
    etcd.#port = await promise
    return etcd
  }

  get address(): string {
    return `127.0.0.1:${this.#port}`
  }

  /** The stream with this number, from 1 on, when it has said what it wants. */
  async watch(number: number, passTime: () => void = () => undefined): Promise<ScriptedWatch> {
    await until(async () => {
      passTime()
      return (this.watches[number - 1]?.requests.length ?? 0) > 0
    })
    return must(this.watches[number - 1], 'a watch')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown()
    await Promise.resolve()
  }
}

function header(revision: number): ProtoWriter {
  return new ProtoWriter().message(1, new ProtoWriter().integer(3, revision))
}

function asIs(bytes: Buffer): Buffer {
  return bytes
}
