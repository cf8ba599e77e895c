// The requests that we send to etcd, with the field numbers of its rpc.proto (package etcdserverpb;
// etcd 3.4 and later).

import type { EtcdRequest } from '../../../lib/etcd/etcd-request.ts'
import { ProtoWriter } from '../../../lib/etcd/proto-writer.ts'

/** The keys from `key` up to but without `end`; without `end` the one key. */
export interface KeyRange {
  readonly key: Uint8Array
  readonly end?: Uint8Array
}

export type CompareTarget = 'createRevision' | 'modRevision'

const COMPARE_EQUAL = 0
/** The value of the enumeration, and the field that holds the number to compare with. */
const COMPARE_TARGETS: Record<CompareTarget, readonly [number, number]> = {
  createRevision: [1, 5],
  modRevision: [2, 6],
}

export function compareEqual(
  key: Uint8Array,
  target: CompareTarget,
  revision: number,
): ProtoWriter {
  const [value, field] = COMPARE_TARGETS[target]
  return new ProtoWriter()
    .integer(1, COMPARE_EQUAL)
    .integer(2, value)
    .bytes(3, key)
    .integer(field, revision)
}

/** The parts of a transaction: if all compares hold, `success` runs, and otherwise `failure`. */
export interface TxnParts {
  readonly compare?: readonly ProtoWriter[]
  readonly success?: readonly ProtoWriter[]
  readonly failure?: readonly ProtoWriter[]
}

export function rangeOp(range: KeyRange): ProtoWriter {
  return new ProtoWriter().message(1, rangeMessage(range))
}

/** What a put stores under a key. */
export interface PutOptions {
  readonly key: Uint8Array
  readonly value: Uint8Array
  /** 0 attaches the key to nothing. */
  readonly lease?: bigint
}

export function putOp({ key, value, lease = 0n }: PutOptions): ProtoWriter {
  const put = new ProtoWriter().bytes(1, key).bytes(2, value).integer(3, lease)
  return new ProtoWriter().message(2, put)
}

export function deleteOp(key: Uint8Array): ProtoWriter {
  return new ProtoWriter().message(3, new ProtoWriter().bytes(1, key))
}

export function txnRequest(parts: TxnParts): EtcdRequest {
  return { path: '/etcdserverpb.KV/Txn', body: txnMessage(parts).finish() }
}

/** A page of at most `limit` keys, as they were at `revision`; 0 is now. */
export function rangeRequest(
  range: KeyRange,
  { limit = 0, revision = 0 }: { readonly limit?: number; readonly revision?: number } = {},
): EtcdRequest {
  const message = rangeMessage(range).integer(3, limit).integer(4, revision)
  return { path: '/etcdserverpb.KV/Range', body: message.finish() }
}

export function leaseGrantRequest(ttlSeconds: number): EtcdRequest {
  const body = new ProtoWriter().integer(1, ttlSeconds).finish()
  return { path: '/etcdserverpb.Lease/LeaseGrant', body }
}

export function leaseRevokeRequest(id: bigint): EtcdRequest {
  return {
    path: '/etcdserverpb.Lease/LeaseRevoke',
    body: new ProtoWriter().integer(1, id).finish(),
  }
}

export function leaseKeepAliveRequest(id: bigint): EtcdRequest {
  const body = new ProtoWriter().integer(1, id).finish()
  return { path: '/etcdserverpb.Lease/LeaseKeepAlive', body, isStream: true }
}

export function authenticateRequest(name: string, password: string): EtcdRequest {
  const body = new ProtoWriter().text(1, name).text(2, password).finish()
  return { path: '/etcdserverpb.Auth/Authenticate', body }
}

export const WATCH_PATH = '/etcdserverpb.Watch/Watch'

/** With notifications of progress while nothing changes, and large answers in fragments. */
export function watchCreateMessage({ key, end }: KeyRange, fromRevision: number): Buffer {
  const create = new ProtoWriter().bytes(1, key)
  if (end !== undefined) create.bytes(2, end)
  create.integer(3, fromRevision).integer(4, 1).integer(8, 1)
  return new ProtoWriter().message(1, create).finish()
}

/** Makes etcd answer on a stream on which nothing happens. */
export function watchProgressMessage(): Buffer {
  return new ProtoWriter().message(3, new ProtoWriter()).finish()
}

function rangeMessage({ key, end }: KeyRange): ProtoWriter {
  const message = new ProtoWriter().bytes(1, key)
  return end === undefined ? message : message.bytes(2, end)
}

function txnMessage({ compare = [], success = [], failure = [] }: TxnParts): ProtoWriter {
  const message = new ProtoWriter()
  for (const each of compare) message.message(1, each)
  for (const each of success) message.message(2, each)
  for (const each of failure) message.message(3, each)
  return message
}
