// PostgreSQL with two standbys on this machine. An upsert is acknowledged when all three have it on disk.

import { execFile } from 'node:child_process'
import { chmod, chown, mkdir, readdir, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { must } from '../../lib/assert.ts'
import { POSTGRES_TABLE, POSTGRES_USER } from '../load/postgres-requests.ts'
import type { Bench } from '../suite.ts'
import { ServiceProcess, freePorts, runProgram } from './service-process.ts'
import type { ProcessUser } from './service-process.ts'

/** Debian puts the programs of each version here, out of PATH. */
const DEBIAN_VERSIONS = '/usr/lib/postgresql'
const STANDBYS = ['standby1', 'standby2']
/**
 * What differs from the defaults. Memory for the table; no checkpoint while it is measured; the rest makes
 * every commit wait for the disks of both standbys.
 */
const SETTINGS = `
listen_addresses = '127.0.0.1'
max_connections = 200
shared_buffers = 512MB
max_wal_size = 8GB
checkpoint_timeout = 1h
wal_level = replica
max_wal_senders = 10
hot_standby = on
synchronous_commit = on
synchronous_standby_names = 'ANY 2 (${STANDBYS.join(', ')})'
`

/** A running primary with its standbys. */
export interface PostgresCluster extends AsyncDisposable {
  /** For the load generator. */
  readonly origin: string
  readonly version: string
  /** The primary's process and those of the standbys; each has children. */
  readonly pids: readonly number[]
  /** Answers the rows of a statement, a line for each. */
  query(statement: string): Promise<string>
}

interface Installed {
  readonly bin: string
  readonly user: ProcessUser
}

interface Server {
  readonly folder: string
  readonly port: number
}

export async function startPostgres({ directory, clock }: Bench): Promise<PostgresCluster> {
  const installed = await findPostgres()
  const root = path.join(directory, 'postgres')
  await mkdir(root)
  await giveTo(installed.user, { directory, root })
  const ports = await freePorts(STANDBYS.length + 1)
  const servers = ['primary', ...STANDBYS].map((name, index) => {
    return { folder: path.join(root, name), port: must(ports[index], 'a port') }
  })
  const [primary, ...standbys] = servers
  const first = must(primary, 'the primary')
  await createPrimary(installed, first)

  await using stack = new AsyncDisposableStack()
  const query = (statement: string): Promise<string> => ask(installed, first, statement)
  const start = async (server: Server): Promise<ServiceProcess> => {
    const args = ['-D', server.folder, '-p', String(server.port), '-k', root]
    const command = path.join(installed.bin, 'postgres')
    const process = stack.use(
      new ServiceProcess({ command, args, endSignal: 'SIGINT', ...installed.user }),
    )
    await process.ready(clock, () => ask(installed, server, 'select 1'))
    return process
  }
  const processes = [await start(first)]
  for (const [index, standby] of standbys.entries()) {
    await copyPrimary(installed, { from: first, to: standby, name: `standby${index + 1}` })
    processes.push(await start(standby))
  }
  await query(`create table ${POSTGRES_TABLE} (key text primary key, document jsonb not null)`)
  const owned = stack.move()
  return {
    origin: `postgres://127.0.0.1:${first.port}`,
    version: (await query('show server_version')).trim(),
    pids: processes.map(({ pid }) => pid),
    query,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

/** The newest of Debian's versions, and a user for it: it refuses to be run by root. */
async function findPostgres(): Promise<Installed> {
  const versions = await readdir(DEBIAN_VERSIONS).catch(() => [])
  const newest = versions.toSorted((a, b) => Number(b) - Number(a))[0]
  if (newest === undefined) throw new Error('PostgreSQL is missing: apt-get install postgresql')
  const bin = path.join(DEBIAN_VERSIONS, newest, 'bin')
  if (process.getuid?.() !== 0) return { bin, user: {} }
  return { bin, user: { uid: await idOf('-u'), gid: await idOf('-g') } }
}

async function idOf(which: '-u' | '-g'): Promise<number> {
  const { stdout } = await promisify(execFile)('id', [which, 'postgres'])
  return Number(stdout)
}

async function giveTo(
  { uid, gid }: ProcessUser,
  { directory, root }: { readonly directory: string; readonly root: string },
): Promise<void> {
  if (uid === undefined || gid === undefined) return
  await chmod(directory, 0o711) // so that the user may pass through
  await chown(root, uid, gid)
}

async function createPrimary({ bin, user }: Installed, { folder }: Server): Promise<void> {
  const args = ['-D', folder, '-U', POSTGRES_USER, '-A', 'trust', '-E', 'UTF8', '--locale=C']
  await runProgram({ command: path.join(bin, 'initdb'), args, ...user })
  await writeFile(path.join(folder, 'postgresql.auto.conf'), SETTINGS)
}

async function copyPrimary(
  { bin, user }: Installed,
  { from, to, name }: { readonly from: Server; readonly to: Server; readonly name: string },
): Promise<void> {
  const connection = ['-h', '127.0.0.1', '-p', String(from.port), '-U', POSTGRES_USER]
  const args = [...connection, '-D', to.folder, '-c', 'fast', '-X', 'stream']
  await runProgram({ command: path.join(bin, 'pg_basebackup'), args, ...user })
  const primary = `host=127.0.0.1 port=${from.port} user=${POSTGRES_USER} application_name=${name}`
  await writeFile(path.join(to.folder, 'standby.signal'), '')
  const settings = SETTINGS.replace(
    /synchronous_standby_names.*/,
    `primary_conninfo = '${primary}'`,
  )
  await writeFile(path.join(to.folder, 'postgresql.auto.conf'), settings)
}

async function ask({ bin }: Installed, { port }: Server, statement: string): Promise<string> {
  const connection = ['-h', '127.0.0.1', '-p', String(port), '-U', POSTGRES_USER, '-d', 'postgres']
  const args = [...connection, '-X', '-A', '-t', '-c', statement]
  const { stdout } = await promisify(execFile)(path.join(bin, 'psql'), args)
  return stdout
}
