// The folder of a cluster on one machine:
//
//   <folder>/etcd/            etcd's data
//   <folder>/node-<n>/        the data directory of a node
//   <folder>/cluster-secret   by which the nodes prove themselves to each other; mode 0600

import { randomBytes } from 'node:crypto'
import { mkdir, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { isSystemError } from '../process/system-error.ts'

const SECRET_BYTES = 32
const OTHERS = 0o077

/** Where the parts of a cluster are. */
export interface ClusterFolder {
  readonly etcd: string
  readonly secretFile: string
  node(number: number): string
}

/** Makes the folder and its secret, if they are not there. */
export async function openClusterFolder(folder: string): Promise<ClusterFolder> {
  const root = path.resolve(folder)
  const secretFile = path.join(root, 'cluster-secret')
  try {
    await mkdir(root, { recursive: true, mode: 0o700 })
    await writeSecret(secretFile)
  } catch (error) {
    if (!isSystemError(error)) throw error
    throw refusal(`the folder of the cluster cannot be used: ${error.message}`, error)
  }
  const { mode } = await stat(secretFile)
  if ((mode & OTHERS) !== 0) {
    throw refusal(`${secretFile} can be read by other users: chmod 600 ${secretFile}`)
  }
  return {
    etcd: path.join(root, 'etcd'),
    secretFile,
    node: (number) => path.join(root, `node-${number}`),
  }
}

async function writeSecret(file: string): Promise<void> {
  const secret = `${randomBytes(SECRET_BYTES).toString('base64url')}\n`
  try {
    await writeFile(file, secret, { flag: 'wx', mode: 0o600, flush: true })
  } catch (error) {
    const isThere = isSystemError(error) && error.code === 'EEXIST'
    if (!isThere) throw error
  }
}

function refusal(message: string, cause?: unknown): CliError {
  return new CliError(EXIT.configuration, 'CONFIGURATION', message, { cause })
}
