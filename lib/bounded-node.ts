// Processes that work on what strangers sent: with a part of the environment, and bounded memory.

import { existsSync, realpathSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Env } from './env.ts'

/**
 * The server's environment variables that such a process gets. They say how to run and hold no secrets:
 * what takes over the process could read them.
 */
const INHERITED =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|CUDA_\w+|SystemRoot|NODE_(?:COMPILE_CACHE|DEBUG|DISABLE_COMPILE_CACHE|ENV|EXTRA_CA_CERTS|ICU_DATA|NO_WARNINGS|OPTIONS|PATH|V8_COVERAGE))$/
const KIB = 1024
/** From 0 to 1000: the kernel ends the process with the highest score first. A server has 0. */
const OOM_SCORE = 500

export function inheritedEnvironment(environment: Env): Env {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => INHERITED.test(name)))
}

/** A module that Node loads before the program, by its path or the URL of a file. */
const PRELOAD = /(?:^|\s)(?:--import|--require|-r)[\s=]+(file:\/\/[^\s?]+|\/[^\s?]+)/g

/**
 * The folders of modules that the operator has Node load before every program, in `NODE_OPTIONS`: a process with
 * `--permission` has to read them, or it does not start.
 */
export function preloadFolders({ NODE_OPTIONS: options = '' }: Env): readonly string[] {
  return [...options.matchAll(PRELOAD)].map(([, module = '']) => {
    return path.dirname(module.startsWith('file:') ? fileURLToPath(module) : module)
  })
}

/**
 * The paths, and behind each link that is among them where it leads: `node_modules` may be one, and a process with
 * `--permission` reads a file by its real path.
 */
export function withTargets(paths: readonly string[]): readonly string[] {
  return paths.flatMap((file) => {
    const target = existsSync(file) ? realpathSync(file) : file
    return target === file ? [file] : [file, target]
  })
}

/** What `fork` starts. */
export interface BoundedNode {
  readonly execPath: string
  readonly execArgv: string[]
}

/** `memoryBytesMax` is what the process may allocate, `heapMibMax` what of it JavaScript may use. */
export interface NodeBounds {
  readonly memoryBytesMax: number
  readonly heapMibMax: number
  /** More arguments for Node. */
  readonly nodeArguments?: readonly string[]
}

/**
 * Starts Node through a shell, which first limits its allocations, because Node cannot do that
 * itself. The shell then replaces itself by Node, so that the child is the process. When the machine
 * runs out of memory, the kernel ends it before the server. Only Linux limits a process's
 * allocations in this way.
 */
export function boundedNode({
  memoryBytesMax,
  heapMibMax,
  nodeArguments = [],
}: NodeBounds): BoundedNode {
  const node: BoundedNode = {
    execPath: process.execPath,
    execArgv: [`--max-old-space-size=${heapMibMax}`, ...nodeArguments],
  }
  if (process.platform !== 'linux') return node
  const bounds = [
    `ulimit -S -d ${Math.ceil(memoryBytesMax / KIB)}`,
    `echo ${OOM_SCORE} > /proc/self/oom_score_adj`,
  ]
  // A container may forbid both. The process then runs without bounds.
  const script = `{ ${bounds.join('; ')}; } 2>/dev/null; exec "$@"`
  return {
    execPath: '/bin/sh',
    execArgv: ['-c', script, 'sh', node.execPath, ...node.execArgv],
  }
}
