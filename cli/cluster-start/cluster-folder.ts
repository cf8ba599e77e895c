// The folder of a cluster on one machine:
//
//   <folder>/etcd/            etcd's data
//   <folder>/node-<n>/        the data directory of a node
//   <folder>/node-<n>.log     what that node logs since the last start
//   <folder>/launcher.pid     the process that runs the cluster; gone when it has ended in order
//   <folder>/cluster-secret   by which the nodes prove themselves to each other; mode 0600

import { randomBytes } from 'node:crypto'
import { mkdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
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
  /** Where the lines of a process's log go. */
  log(name: string): string
  /** Another process may run the cluster from now on. */
  release(): Promise<void>
}

/** Makes the folder and its secret, if they are not there. Refuses a folder whose cluster runs. */
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
  const pidFile = path.join(root, 'launcher.pid')
  await takeFolder(root, pidFile)
  return {
    log: (name) => path.join(root, `${name}.log`),
    release: () => rm(pidFile, { force: true }),
    etcd: path.join(root, 'etcd'),
    secretFile,
    node: (number) => path.join(root, `node-${number}`),
  }
}

/** A process that was killed leaves its file, which the next start takes over. */
async function takeFolder(root: string, pidFile: string): Promise<void> {
  const own = String(process.pid)
  for (;;) {
    try {
      return await writeFile(pidFile, own, { flag: 'wx' })
    } catch (error) {
      if (!isSystemError(error) || error.code !== 'EEXIST') throw error
    }
    const pid = Number(await readFile(pidFile, 'utf8').catch(() => ''))
    if (pid > 0 && isAlive(pid)) {
      const wayOut = `end process ${pid}, or give another --data-dir`
      throw refusal(`the cluster in ${root} runs already: ${wayOut}`)
    }
    await rm(pidFile, { force: true })
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return isSystemError(error) && error.code === 'EPERM' // of another user
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
