import { mkdir } from 'node:fs/promises'
import path from 'node:path'
import { ReadyProcess } from '../child-process.ts'
import type { Bench } from '../suite.ts'

const SCRIPT = path.resolve(import.meta.dirname, '../peers/lmdb-server.ts')
export const LMDB_PEER = 'node:http with lmdb'

/** The bare server over LMDB. */
export interface LmdbPeer extends AsyncDisposable {
  readonly origin: string
  readonly process: ReadyProcess
}

export async function startLmdbPeer(
  { directory, seed }: Bench,
  { name, documents }: { readonly name: string; readonly documents: number },
): Promise<LmdbPeer> {
  const folder = path.join(directory, name)
  await mkdir(folder)
  const args = [SCRIPT, folder, String(documents), String(seed)]
  const [process, ready] = await ReadyProcess.start({ name: LMDB_PEER, args })
  return {
    origin: String(ready['api']),
    process,
    [Symbol.asyncDispose]: () => process[Symbol.asyncDispose](),
  }
}
