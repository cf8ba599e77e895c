// F9, F10, F11 and a part of F16: what may go wrong with a node's disk, and with its limits.

import { execFile } from 'node:child_process'
import { cp, mkdir, open, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { promisify } from 'node:util'
import { messageOf } from '../../../../lib/errors.ts'
import type { LabNode } from '../lab-node.ts'
import { decommissioned } from './restarts.ts'
import { FAILOVER_LIMIT_MS, pauseFor, untilOver, type Scenario, type Stage } from './scenario.ts'

const run = promisify(execFile)

const REPAIRED_LIMIT_MS = 120_000
const DISK_BYTES = 768 * 1024 * 1024
const RESERVE_BYTES = 32 * 1024 * 1024
const ENDED_LIMIT_MS = 120_000
const POLL_MS = 200
/** What a node of F16 may open beside what it has open: it takes some connections, and no more. */
const FILES_LEFT = 4

export const DISKS: readonly Scenario[] = [
  {
    id: 'F9',
    title: 'one bit of a file of a killed node is flipped, and it starts',
    holds: 'the damage is found or does not matter; all replicas are whole again',
    run: flippedBits,
  },
  {
    id: 'F9b',
    title: 'the tail of a file of a killed node is cut off, and it starts',
    holds: 'the damage is found or does not matter; all replicas are whole again',
    run: cutTails,
  },
  {
    id: 'F10',
    title: 'the disk of a node is full, and has room again',
    holds: 'the others serve; it is well without a restart when there is room',
    run: fullDisk,
    undo: leaveSmallDisk,
  },
  {
    id: 'F11',
    title: 'syncs of a node fail (EIO)',
    holds: 'its process ends; the others serve',
    run: failingSyncs,
    undo: killAltered,
  },
  {
    id: 'F11b',
    title: 'syncs of a node take 2 s',
    holds: 'it leaves the sets in sync; the others serve',
    run: slowSyncs,
    undo: killAltered,
  },
  {
    id: 'F16',
    title: 'a node that runs may open four more files than it has open',
    holds: 'the others serve; it is well with the usual limit',
    run: fewFiles,
  },
]

/** The node whose start is not the usual one. */
const altered = new WeakMap<Stage, LabNode>()

async function flippedBits(stage: Stage): Promise<void> {
  await damage(stage, async (file, bytes) => {
    const at = Math.floor(stage.lab.random() * bytes)
    await using handle = await open(file, 'r+')
    const one = Buffer.alloc(1)
    await handle.read(one, 0, 1, at)
    one[0] = (one[0] ?? 0) ^ (1 << Math.floor(stage.lab.random() * 8))
    await handle.write(one, 0, 1, at)
    return `flips a bit at ${at} of ${bytes}`
  })
}

async function cutTails(stage: Stage): Promise<void> {
  await damage(stage, async (file, bytes) => {
    const left = Math.max(0, bytes - 1 - Math.floor(stage.lab.random() * 4096))
    await using handle = await open(file, 'r+')
    await handle.truncate(left)
    return `cuts ${bytes} bytes to ${left}`
  })
}

type Harm = (file: string, bytes: number) => Promise<string>

async function damage(stage: Stage, harm: Harm): Promise<void> {
  const { lab } = stage
  const isOver = untilOver(stage)
  while (!isOver()) {
    const node = lab.pick(lab.nodes)
    await node.kill()
    const files = await filesOf(node.dataDir)
    const file = lab.pick(files)
    const { size } = await stat(file)
    const what = await harm(file, size)
    stage.note(`${node.name}: ${path.relative(node.dataDir, file)}: ${what}`)
    await startedAnew(stage, node)
    await stage.progress(FAILOVER_LIMIT_MS)
    await lab.untilInSync(REPAIRED_LIMIT_MS)
  }
}

/**
 * A directory that a node refuses by name is replaced by an empty one, and the node that it was is decommissioned, as
 * an operator would.
 */
async function startedAnew(stage: Stage, node: LabNode): Promise<void> {
  const before = await node.id()
  try {
    await node.start()
  } catch (error) {
    const why = messageOf(error)
    stage.note(`${node.name} refuses to start: ${why.slice(-1500)}`)
    stage.finding('start', `${node.name}: ${why.slice(-1500)}`)
    await node.deleteData()
    await node.start()
    await decommissioned(stage, before)
  }
}

async function filesOf(directory: string): Promise<readonly string[]> {
  const entries = await readdir(directory, { recursive: true, withFileTypes: true })
  const files = entries.filter((entry) => entry.isFile())
  const named = files.map(({ parentPath, name }) => path.join(parentPath, name))
  const sizes = await Promise.all(named.map((file) => stat(file)))
  // Identity and locks of the directory are not data: a wrong id is another node. LevelDB's LOG is for people.
  return named.filter((file, i) => {
    return (
      (sizes[i]?.size ?? 0) > 0 && !/(?:format|node)\.json$|LOCK$|lock$|LOG(?:\.old)?$/.test(file)
    )
  })
}

async function fullDisk(stage: Stage): Promise<void> {
  const { lab } = stage
  const node = await lab.leader()
  altered.set(stage, node)
  await node.stop()
  await rename(node.dataDir, kept(node))
  await mkdir(node.dataDir)
  const options = `size=${DISK_BYTES}`
  await run('mount', ['-t', 'tmpfs', '-o', options, `lab-${node.name}`, node.dataDir])
  await cp(kept(node), node.dataDir, { recursive: true })
  await node.start({ env: { QUARRY_DISK_RESERVE_BYTES: String(RESERVE_BYTES) } })
  await lab.untilInSync(REPAIRED_LIMIT_MS)
  const ballast = path.join(node.dataDir, 'ballast')
  stage.note(`the disk of ${node.name} is full`)
  await fill(ballast)
  await pauseFor(stage.lastsMs)
  stage.note('there is room again')
  await rm(ballast)
  await stage.progress(FAILOVER_LIMIT_MS)
  if (!node.isRunning) stage.finding('F10', `${node.name} ended: ${node.log.slice(-1500)}`)
  await lab.untilInSync(REPAIRED_LIMIT_MS)
}

/** Takes all the room that there is. */
async function fill(file: string): Promise<void> {
  const piece = Buffer.alloc(1024 * 1024)
  try {
    for (;;) await writeFile(file, piece, { flag: 'a' })
  } catch {
    // The last piece has no room.
  }
}

function kept({ dataDir }: LabNode): string {
  return `${dataDir}-kept`
}

async function leaveSmallDisk(stage: Stage): Promise<void> {
  const node = altered.get(stage)
  if (node === undefined) return
  await node.kill()
  await rm(kept(node), { recursive: true, force: true })
  await rm(path.join(node.dataDir, 'ballast'), { force: true })
  await cp(node.dataDir, kept(node), { recursive: true })
  await run('umount', [node.dataDir])
  await rm(node.dataDir, { recursive: true })
  await rename(kept(node), node.dataDir)
}

/** Syncs by strace, which counts those of each thread for itself. */
function underStrace(injected: string, trace = '/dev/null'): readonly string[] {
  // The journal's writes are synchronous themselves (O_DSYNC).
  const calls = 'fdatasync,fsync,pwrite64,pwritev'
  const inject = `inject=${calls}:${injected}`
  const traced = ['-e', `trace=${calls}`, '-e', inject, '-o', trace, '--']
  return ['strace', '-f', '--seccomp-bpf', ...traced]
}

async function failingSyncs(stage: Stage): Promise<void> {
  const trace = path.join(stage.lab.directory, 'failing-syncs')
  const node = await restartedUnder(stage, underStrace('error=EIO:when=15+', trace))
  const hasFailed = async (): Promise<boolean> =>
    (await readFile(trace, 'utf8')).includes('(INJECTED)')
  if (!(await comesTrue(hasFailed))) throw new Error(`no sync of ${node.name} has failed`)
  stage.note(`a sync of ${node.name} has failed`)
  const hasEnded = await comesTrue(async () => !node.isRunning)
  if (hasEnded) stage.note(`${node.name} has ended`)
  else stage.finding('F11', `${node.name} lives on after failed syncs: ${node.log.slice(-1500)}`)
  await stage.progress(FAILOVER_LIMIT_MS)
}

/** Whether it is so within ENDED_LIMIT_MS. */
async function comesTrue(condition: () => Promise<boolean>): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < ENDED_LIMIT_MS; waitedMs += POLL_MS) {
    if (await condition()) return true
    await pauseFor(POLL_MS)
  }
  return false
}

async function slowSyncs(stage: Stage): Promise<void> {
  await restartedUnder(stage, underStrace('delay_enter=2s:when=40+'))
  const isOver = untilOver(stage)
  while (!isOver()) await stage.progress(FAILOVER_LIMIT_MS)
}

async function fewFiles(stage: Stage): Promise<void> {
  const node = await stage.lab.leader()
  const { pid } = node.process
  const opened = (await readdir(`/proc/${pid}/fd`)).length
  const usual = await softLimitOfFiles(pid)
  const few = opened + FILES_LEFT
  await limitFiles(pid, few)
  stage.note(`${node.name} has ${opened} files open, and may have ${few}`)
  await pauseFor(stage.lastsMs)
  await stage.progress(FAILOVER_LIMIT_MS)
  if (node.isRunning) await limitFiles(pid, usual)
  else stage.note(`${node.name} has ended: ${node.log.slice(-1500)}`)
}

async function limitFiles(pid: number, soft: number): Promise<void> {
  await run('prlimit', ['--pid', String(pid), `--nofile=${soft}:`])
}

async function softLimitOfFiles(pid: number): Promise<number> {
  const { stdout } = await run('prlimit', [
    '--pid',
    String(pid),
    '--nofile',
    '-o',
    'SOFT',
    '--noheadings',
  ])
  return Number(stdout)
}

async function restartedUnder(stage: Stage, under: readonly string[]): Promise<LabNode> {
  const node = await stage.lab.leader()
  altered.set(stage, node)
  await node.stop()
  stage.note(`${node.name} runs under ${under[0]}`)
  // It may end at once, which is what some of these faults are about.
  await node.start({ under }).catch((error: unknown) => stage.note(messageOf(error).slice(-1500)))
  return node
}

async function killAltered(stage: Stage): Promise<void> {
  await altered.get(stage)?.kill()
}
