// The peers of text over HTTP: Lucene in two versions, and SQLite FTS5. Each takes the requests of our API.

import { execFile } from 'node:child_process'
import path from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../lib/errors.ts'
import { ReadyProcess } from '../child-process.ts'
import type { Bench } from '../suite.ts'

const FTS5_SCRIPT = path.join(import.meta.dirname, 'fts5-server.ts')
const LUCENE_BUILD = path.join(import.meta.dirname, 'lucene/build.sh')
/** Packages and classes stay here, so that later runs need no network. */
const LUCENE_FOLDER = path.resolve(import.meta.dirname, '../../node_modules/.bench-peers/lucene')
/** A heap of one size: the index is in the page cache, and the buffer of new documents takes 256 MiB. */
const JAVA_OPTIONS = ['-Xms2g', '-Xmx2g', '-XX:+UseParallelGC']

/** In the order of reports. */
export const TEXT_PEERS = ['Lucene 9.12', 'Lucene 4.10', 'FTS5'] as const
export type TextPeerName = (typeof TEXT_PEERS)[number]

const LUCENE_PROFILES: Readonly<Partial<Record<TextPeerName, string>>> = {
  'Lucene 9.12': 'v9',
  'Lucene 4.10': 'v4',
}

export interface TextPeerOptions {
  readonly purpose: 'searches' | 'inserts'
  /** The threads of Lucene that answer requests. */
  readonly threads: number
}

/** A server of a peer. `clear`, `refresh` and `settle` are posted to `/<operation>`. */
export interface TextPeer extends AsyncDisposable {
  readonly name: TextPeerName
  readonly origin: string
  readonly process: ReadyProcess
}

/** Starts a peer; a text says why this machine cannot. */
export async function startTextPeer(
  bench: Bench,
  name: TextPeerName,
  { purpose, threads }: TextPeerOptions,
): Promise<TextPeer | string> {
  const profile = LUCENE_PROFILES[name]
  const folder = path.join(bench.directory, `${purpose}-${threads}-${profile ?? name}`)
  if (profile === undefined) return await started(name, { args: [FTS5_SCRIPT, folder, purpose] })
  const built = path.join(LUCENE_FOLDER, profile)
  try {
    await promisify(execFile)(LUCENE_BUILD, [profile, built])
  } catch (error) {
    return `${name} is not measured: ${messageOf(error).trim()}`
  }
  const classPath = `${built}/classes:${built}/packages/*`
  const args = [...JAVA_OPTIONS, '-cp', classPath, 'LucenePeer', folder, String(threads)]
  return await started(name, { command: 'java', args })
}

async function started(
  name: TextPeerName,
  command: { readonly command?: string; readonly args: readonly string[] },
): Promise<TextPeer> {
  const [process, ready] = await ReadyProcess.start({ name, ...command })
  return {
    name,
    origin: String(ready['origin']),
    process,
    // The JVM answers SIGTERM with an exit code of its own, and nothing of a peer is kept.
    [Symbol.asyncDispose]: () => process.kill(),
  }
}
