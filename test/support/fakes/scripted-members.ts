// Members of an etcd of which a test writes the answers, over gRPC: for what real ones say rarely.

import { Server, ServerCredentials } from '@grpc/grpc-js'
import type { sendUnaryData, ServerUnaryCall, status } from '@grpc/grpc-js'
import { ProtoMessage } from '../../../lib/etcd/proto-message.ts'
import { ProtoWriter } from '../../../lib/etcd/proto-writer.ts'

const NAMES = [
  'Maintenance/Status',
  'Maintenance/Alarm',
  'Maintenance/MoveLeader',
  'Maintenance/Defragment',
  'Cluster/MemberList',
  'Cluster/MemberAdd',
  'Cluster/MemberPromote',
  'Cluster/MemberRemove',
] as const

export type CallName = (typeof NAMES)[number]

/** What becomes of a call: a message, an error, or nothing at all. */
export type Reply =
  ProtoWriter | Buffer | { readonly code: status; readonly says: string } | 'hangs'

/** One call that has arrived. */
export interface ArrivedCall {
  readonly name: CallName
  readonly request: ProtoMessage
  /** The address of the client's end of its connection. */
  readonly from: string
}

export interface ScriptedStatus {
  readonly id: number
  readonly leader: number
  readonly term: number
  readonly committedIndex?: number
  readonly appliedIndex?: number
  readonly isLearner?: boolean
  readonly dbBytes?: number
  readonly dbUsedBytes?: number
  readonly quotaBytes?: number
}

export interface ScriptedListing {
  readonly id: number
  readonly name: string
  readonly peerURL: string
  readonly clientURL?: string
  readonly isLearner?: boolean
}

/** Listens on 127.0.0.1. Calls that the test has not scripted are answered with an empty message. */
export class ScriptedMember implements AsyncDisposable {
  readonly arrived: ArrivedCall[] = []
  readonly #server = new Server()
  readonly #script = new Map<CallName, (request: ProtoMessage) => Reply>()
  #port = 0

  static async start(): Promise<ScriptedMember> {
    const member = new ScriptedMember()
    for (const name of NAMES) member.#serve(name)
    const { promise, resolve, reject } = Promise.withResolvers<number>()
    member.#server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) => {
      if (error === null) resolve(port)
      else reject(error)
    })
    member.#port = await promise
    return member
  }

  get clientURL(): string {
    return `http://127.0.0.1:${this.#port}`
  }

  on(name: CallName, reply: Reply | ((request: ProtoMessage) => Reply)): void {
    this.#script.set(name, typeof reply === 'function' ? reply : () => reply)
  }

  /** The calls that have arrived, without those that only ask for the status. */
  get asked(): readonly CallName[] {
    return this.arrived.map(({ name }) => name).filter((name) => name !== 'Maintenance/Status')
  }

  #serve(name: CallName): void {
    const handler = (call: ServerUnaryCall<Buffer, Buffer>, done: sendUnaryData<Buffer>): void => {
      const request = new ProtoMessage(call.request)
      this.arrived.push({ name, request, from: call.getPeer() })
      const reply = this.#script.get(name)?.(request) ?? new ProtoWriter()
      if (reply === 'hangs') return
      if (reply instanceof ProtoWriter) done(null, reply.finish())
      else if ('code' in reply) done({ code: reply.code, details: reply.says })
      else done(null, reply)
    }
    const method = {
      path: `/etcdserverpb.${name}`,
      requestStream: false,
      responseStream: false,
      requestSerialize: asIs,
      requestDeserialize: asIs,
      responseSerialize: asIs,
      responseDeserialize: asIs,
    } as const
    this.#server.addService({ [name]: method }, { [name]: handler })
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.forceShutdown()
    await Promise.resolve()
  }
}

export function statusAnswer(told: ScriptedStatus): ProtoWriter {
  const answer = new ProtoWriter()
    .message(1, new ProtoWriter().integer(1, 1).integer(2, told.id))
    .text(2, '3.4.0')
    .integer(3, told.dbBytes ?? 0)
    .integer(4, told.leader)
    .integer(5, told.committedIndex ?? 0)
    .integer(6, told.term)
    .integer(7, told.appliedIndex ?? told.committedIndex ?? 0)
    .integer(9, told.dbUsedBytes ?? 0)
    .integer(10, told.isLearner === true ? 1 : 0)
  return told.quotaBytes === undefined ? answer : answer.integer(12, told.quotaBytes)
}

export function listAnswer(members: readonly ScriptedListing[]): ProtoWriter {
  const answer = new ProtoWriter()
  for (const { id, name, peerURL, clientURL, isLearner = false } of members) {
    const member = new ProtoWriter().integer(1, id).text(2, name).text(3, peerURL)
    if (clientURL !== undefined) member.text(4, clientURL)
    answer.message(2, member.integer(5, isLearner ? 1 : 0))
  }
  return answer
}

/** Types as numbers: 1 is NOSPACE, 2 CORRUPT. */
export function alarmAnswer(alarms: readonly (readonly [id: number, type: number])[]): ProtoWriter {
  const answer = new ProtoWriter()
  for (const [id, type] of alarms) {
    answer.message(2, new ProtoWriter().integer(1, id).integer(2, type))
  }
  return answer
}

function asIs(bytes: Buffer): Buffer {
  return bytes
}
