import { readFile, readdir } from 'node:fs/promises'
import { parseCpuSeconds, parseEndedCpuSeconds } from './process-memory.ts'

/** The proportional set size of a process and its descendants in MiB. Shared pages count once. */
export async function readTreeMemory(pid: number): Promise<number> {
  const pids = await treeOf(pid)
  const sizes = await Promise.all(pids.map(readProportionalSize))
  return sizes.reduce((sum, size) => sum + size, 0)
}

/** The processor time of a process and its descendants, with those that have ended. */
export async function readTreeCpuSeconds(pid: number): Promise<number> {
  const seconds = await Promise.all((await treeOf(pid)).map(readAllCpuSeconds))
  return seconds.reduce((sum, each) => sum + each, 0)
}

async function readAllCpuSeconds(pid: number): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => undefined)
  return stat === undefined ? 0 : parseCpuSeconds(stat) + parseEndedCpuSeconds(stat)
}

/** The ids of the process and of all its descendants. */
export async function treeOf(pid: number): Promise<number[]> {
  const children = await childrenOf(pid)
  const below = await Promise.all(children.map(treeOf))
  return [pid, ...below.flat()]
}

async function childrenOf(pid: number): Promise<number[]> {
  // Processes and threads that have ended meanwhile have no children.
  const threads = await readdir(`/proc/${pid}/task`).catch(() => [])
  const lists = threads.map((thread) =>
    readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''),
  )
  return (await Promise.all(lists)).flatMap((list) => list.split(' ').filter(Boolean).map(Number))
}

async function readProportionalSize(pid: number): Promise<number> {
  try {
    const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8')
    return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) / 1024
  } catch {
    return 0 // it has ended meanwhile
  }
}
