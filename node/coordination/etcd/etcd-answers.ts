// The answers that we read from etcd, with the field numbers of its rpc.proto and kv.proto.

import type { ProtoMessage } from '../../../lib/etcd/proto-message.ts'

/** A key as etcd stores it. */
export interface StoredKey {
  readonly key: Buffer
  readonly value: Buffer
  readonly createRevision: number
  readonly modRevision: number
}

/** The store's revision when it answered. Every answer but a stream's has it. */
export function revisionOf(answer: ProtoMessage): number {
  return answer.message(1).number(3)
}

/** The id of etcd's cluster, in hexadecimal as etcdctl shows it. */
export function storeOf(answer: ProtoMessage): string {
  return answer.message(1).bigint(1).toString(16)
}

function storedKey(message: ProtoMessage): StoredKey {
  return {
    key: message.bytes(1),
    createRevision: message.number(2),
    modRevision: message.number(3),
    value: message.bytes(5),
  }
}

/** The keys of the answer to a range, alone or as part of a transaction. */
export function rangeOf(answer: ProtoMessage): {
  readonly keys: readonly StoredKey[]
  readonly hasMore: boolean
} {
  return { keys: answer.messages(2).map(storedKey), hasMore: answer.flag(3) }
}

/** The answer to a transaction. */
export interface TxnAnswer {
  readonly succeeded: boolean
  /** One for each operation of the branch that ran. */
  readonly parts: readonly ProtoMessage[]
}

export function txnOf(answer: ProtoMessage): TxnAnswer {
  return { succeeded: answer.flag(2), parts: answer.messages(3) }
}

/** The keys of a range that is part of a transaction. */
export function rangeInTxn(part: ProtoMessage): readonly StoredKey[] {
  return rangeOf(part.message(1)).keys
}

/** The id and time of a granted or renewed lease; 0 seconds are left of a lease that etcd does not have. */
export function leaseOf(answer: ProtoMessage): {
  readonly id: bigint
  readonly ttlSeconds: number
} {
  return { id: answer.bigint(2), ttlSeconds: answer.number(3) }
}

export function tokenOf(answer: ProtoMessage): string {
  return answer.text(2)
}

/** One message of a watch. */
export interface WatchAnswer {
  readonly revision: number
  /** Whether the message is about the watch, and not about all watches of the stream. */
  readonly isOwn: boolean
  /** The first message of a watch. Events before its revision may still come. */
  readonly isCreated: boolean
  readonly isCanceled: boolean
  /** Greater than 0 if the past that was asked for is gone. */
  readonly compactRevision: number
  readonly cancelReason: string
  /** More events of the same revisions follow in the next message. */
  readonly isFragment: boolean
  readonly events: readonly { readonly isDelete: boolean; readonly stored: StoredKey }[]
}

/** etcd answers a request for progress with this number, as it is about all watches of a stream. */
const ALL_WATCHES = 2n ** 64n - 1n

export function watchOf(answer: ProtoMessage): WatchAnswer {
  return {
    revision: revisionOf(answer),
    isOwn: answer.bigint(2) !== ALL_WATCHES,
    isCreated: answer.flag(3),
    isCanceled: answer.flag(4),
    compactRevision: answer.number(5),
    cancelReason: answer.text(6),
    isFragment: answer.flag(7),
    events: answer.messages(11).map((event) => ({
      isDelete: event.number(1) === 1,
      stored: storedKey(event.message(2)),
    })),
  }
}
