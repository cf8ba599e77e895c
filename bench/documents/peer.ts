// The peer of our server: a bare server over LMDB, or our server from another checkout.

import path from 'node:path'
import type { InsertEach } from '../load/load-job.ts'
import type { Bench } from '../suite.ts'
import { LMDB_PEER, startLmdbPeer } from './lmdb-peer.ts'
import { loadTable } from './load-table.ts'
import { batchPath, createTable, lookupPath, startCheckout } from './quarry-server.ts'

/** A running peer. */
export interface Peer extends AsyncDisposable {
  readonly name: string
  readonly origin: string
  readonly pid: number
  readonly insertTarget: InsertEach['target']
  /** The path of a lookup before the key. */
  readonly lookupPath: string
}

/** The name and the first documents of a peer. */
export interface PeerOptions {
  readonly name: string
  /** The number of documents of a kilobyte that it has at its start. */
  readonly documents: number
}

export function startPeer(bench: Bench, options: PeerOptions): Promise<Peer> {
  const { against } = bench
  return against === undefined
    ? startBare(bench, options)
    : startOther(bench, { ...options, checkout: path.resolve(against) })
}

async function startBare(bench: Bench, options: PeerOptions): Promise<Peer> {
  const server = await startLmdbPeer(bench, options)
  return {
    name: LMDB_PEER,
    origin: server.origin,
    pid: server.process.pid,
    insertTarget: { kind: 'bare' },
    lookupPath: '/',
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}

const TABLE = 'compared'

async function startOther(
  bench: Bench,
  { name, documents, checkout }: PeerOptions & { readonly checkout: string },
): Promise<Peer> {
  const server = await startCheckout(bench, { checkout, name })
  await createTable(server, TABLE)
  if (documents > 0) await loadTable(bench, server, { table: TABLE, shape: 'kilobyte', documents })
  return {
    name: 'quarry of the other checkout',
    origin: server.origin,
    pid: server.process.pid,
    insertTarget: { kind: 'batch', path: batchPath(TABLE) },
    lookupPath: lookupPath(TABLE),
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  }
}
