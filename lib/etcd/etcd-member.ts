// One member of an etcd cluster, and the only file that knows gRPC.

import { Client, Metadata, status } from '@grpc/grpc-js'
import type { ChannelCredentials, ClientDuplexStream, ClientOptions } from '@grpc/grpc-js'
import { messageOf } from '../errors.ts'
import { EtcdFailure, unanswered } from './etcd-failure.ts'
import type { EtcdRequest } from './etcd-request.ts'
import { ProtoMessage } from './proto-message.ts'

/** A page of a listing with the largest values is shorter than this. */
const ANSWER_BYTES_MAX = 192 * 1024 * 1024

const CHANNEL_OPTIONS: ClientOptions = {
  // A dead connection of a watch is noticed by pings too. etcd refuses more than one in 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1000,
  // Failover and retries are ours, because only we know what may be sent twice.
  'grpc.enable_retries': 0,
  'grpc.use_local_subchannel_pool': 1,
  // The control plane must not depend on a proxy that an environment variable names.
  'grpc.enable_http_proxy': 0,
  'grpc.max_receive_message_length': ANSWER_BYTES_MAX,
}

/** A stream of messages in both directions. */
export type EtcdStream = ClientDuplexStream<Buffer, Buffer>

/** Headers of a call. */
export interface CallHeaders {
  readonly token: string | undefined
  /** Makes etcd end a stream when its member has lost the leader. */
  readonly needsLeader?: boolean
}

/** Calls of one endpoint. A failed call rejects with an EtcdFailure. */
export class EtcdMember {
  readonly #address: string
  #credentials: ChannelCredentials
  #client: Client | undefined

  /** `address` is a host with its port. */
  constructor(address: string, credentials: ChannelCredentials) {
    this.#address = address
    this.#credentials = credentials
  }

  /** Aborting the signal cancels the call, whose outcome is unknown then. */
  async call(
    request: EtcdRequest,
    headers: CallHeaders,
    signal: AbortSignal,
  ): Promise<ProtoMessage> {
    if (signal.aborted) throw this.#cancelled(signal)
    const isStream = request.isStream === true
    const answering = isStream
      ? this.#ask(request, headers, signal)
      : this.#unary(request, headers, signal)
    return new ProtoMessage(await answering)
  }

  /** The stream has an error listener, so that an error without a reader ends nothing else. */
  stream(path: string, headers: CallHeaders): EtcdStream {
    const stream: EtcdStream = this.#open().makeBidiStreamRequest(
      path,
      asIs,
      asIs,
      metadataOf(headers),
    )
    stream.on('error', () => undefined)
    return stream
  }

  /** Makes the next call connect anew, because a connection that does not answer may be dead. */
  reset(): void {
    this.#client?.close()
    this.#client = undefined
  }

  /** Later calls go by these credentials; those that run, and streams, end as they would have. */
  renew(credentials: ChannelCredentials): void {
    this.#credentials = credentials
    this.reset()
  }

  failureOf(error: unknown): EtcdFailure {
    const code = codeOf(error)
    return new EtcdFailure(code, `${this.#address}: ${messageOf(error)}`, { cause: error })
  }

  #unary(request: EtcdRequest, headers: CallHeaders, signal: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const onAbort = (): void => call.cancel()
      const call = this.#open().makeUnaryRequest(
        request.path,
        asIs,
        asIs,
        request.body,
        metadataOf(headers),
        (error, answer) => {
          signal.removeEventListener('abort', onAbort)
          if (answer !== undefined) resolve(answer)
          else reject(signal.aborted ? this.#cancelled(signal) : this.failureOf(error))
        },
      )
      signal.addEventListener('abort', onAbort, { once: true })
    })
  }

  /** One message there and one back, on a stream of their own. */
  #ask(request: EtcdRequest, headers: CallHeaders, signal: AbortSignal): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      const stream = this.stream(request.path, headers)
      const onAbort = (): void => stream.cancel()
      signal.addEventListener('abort', onAbort, { once: true })
      const settle = (): void => {
        signal.removeEventListener('abort', onAbort)
        stream.cancel()
      }
      stream.once('data', (answer: Buffer) => {
        settle()
        resolve(answer)
      })
      stream.once('error', (error) => {
        settle()
        reject(signal.aborted ? this.#cancelled(signal) : this.failureOf(error))
      })
      stream.once('end', () => {
        settle()
        reject(this.failureOf(new Error('the stream ended without an answer')))
      })
      stream.write(request.body)
    })
  }

  #cancelled({ reason }: AbortSignal): EtcdFailure {
    return unanswered(`${this.#address}: ${messageOf(reason)}`)
  }

  #open(): Client {
    this.#client ??= new Client(this.#address, this.#credentials, CHANNEL_OPTIONS)
    return this.#client
  }
}

function metadataOf({ token, needsLeader = false }: CallHeaders): Metadata {
  const metadata = new Metadata()
  if (token !== undefined) metadata.set('token', token)
  if (needsLeader) metadata.set('hasleader', 'true')
  return metadata
}

function asIs(bytes: Buffer): Buffer {
  return bytes
}

function codeOf(error: unknown): number {
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined
  return typeof code === 'number' ? code : status.UNKNOWN
}
