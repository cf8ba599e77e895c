// Starts a worker and exchanges messages with it. A worker is one of two kinds:
//
//   process  A native crash (an abort, a segmentation fault, an exhausted address space) ends only
//            that process. A run that does not end can be killed.
//   thread   A message costs a third. A native crash ends the server, and so does killing a thread
//            in the middle of a run.
//
// See docs/decisions/0009-inference-server.md.

import { fork } from 'node:child_process'
import path from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import {
  boundedNode,
  inheritedEnvironment,
  preloadFolders,
  withTargets,
} from '../../lib/bounded-node.ts'
import type { Env } from '../../lib/env.ts'
import { collected } from './large-payloads.ts'
import { OrderedSender } from './ordered-sender.ts'
import type { FromWorker, ToWorker, WorkerSettings } from './worker-protocol.ts'

/**
 * The limit of a worker's JavaScript heap. Tokenizers and templates from model files live there;
 * the largest tokenizers take 1 GiB.
 */
const HEAP_MIB_MAX = 2_048

/**
 * The GNU C library returns only large freed blocks to the system, and by default it raises that
 * threshold with each block it frees. With a fixed threshold, a process that has unloaded a model
 * of 90 MB shrinks to 96 MiB instead of 210.
 */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '131072' }

const PROJECT = path.resolve(import.meta.dirname, '../..')
/** The program of a worker. */
const PROGRAM = ['inference', 'lib', 'node_modules', 'package.json'].map((name) =>
  path.join(PROJECT, name),
)

/**
 * The JavaScript of a worker, tokenizers and templates of strangers among it, reads the program and the models, and
 * nothing else: no data directory, no secrets, no keys. It writes no file, and starts no process and no thread. A link
 * among the models leads to where the operator keeps a file.
 */
function permissionsOf(readable: readonly string[]): readonly string[] {
  return [
    '--permission',
    '--allow-addons',
    '--disable-warning=PERM0001', // that addons are allowed: the models' library is one
    ...[...withTargets(PROGRAM), ...readable].map(
      (name) => `--allow-fs-read=${path.resolve(name)}`,
    ),
    // A directory that is not there yet is taken for a file.
    ...readable.map((name) => `--allow-fs-read=${path.join(path.resolve(name), '*')}`),
  ]
}

export const ISOLATIONS = ['process', 'thread'] as const
export type Isolation = (typeof ISOLATIONS)[number]

/** Receives the worker's messages, and learns that it has ended. */
export interface ChannelListener {
  readonly onMessage: (message: FromWorker<never>) => void
  /** Called once, after the last message. */
  onExit(reason: string): void
}

/**
 * The server's end of the connection to one worker.
 *
 * Contract, checked for every kind of worker by test/conformance/worker-channel.ts:
 * - Messages arrive in the order in which they were sent, as structured clones.
 * - `onExit` is called once, after the worker's last message, for every cause of its end.
 * - A message to a worker that has ended is lost.
 */
export interface WorkerChannel {
  send(message: ToWorker): void
  /**
   * Ends the worker at once, even in the middle of a run. False: this kind of worker cannot be
   * ended.
   */
  kill(): boolean
}

/** How to start one worker. */
export interface ChannelOptions {
  /** The worker's entry file. */
  readonly entry: URL
  readonly isolation: Isolation
  readonly settings: WorkerSettings
  /** The directories of models. A worker process may read them, and its program; a thread reads what the server may. */
  readonly readable: readonly string[]
  /**
   * The server's environment, of which worker processes get a part. Threads share the server's own.
   */
  readonly environment: Env
  /**
   * The bytes that a worker process may allocate; a graph that needs more fails. It does not bound
   * threads.
   */
  readonly memoryBytesMax: number
}

/** Starts a worker. A failure to start it is reported through `onExit`. */
export function openWorkerChannel(
  options: ChannelOptions,
  listener: ChannelListener,
): WorkerChannel {
  return options.isolation === 'process'
    ? openProcess(options, listener)
    : openThread(options, listener)
}

function openProcess(
  { entry, settings, readable, environment, memoryBytesMax }: ChannelOptions,
  listener: ChannelListener,
): WorkerChannel {
  const child = fork(entry, [JSON.stringify(settings)], {
    env: { ...inheritedEnvironment(environment), ...ALLOCATOR },
    ...boundedNode({
      memoryBytesMax,
      heapMibMax: HEAP_MIB_MAX,
      nodeArguments: permissionsOf([...readable, ...preloadFolders(environment)]),
    }),
    serialization: 'advanced', // typed arrays arrive as typed arrays
    // A crashing native library writes its reason to stderr, beside the server's log.
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
    // Ctrl-C in a terminal goes to the whole group; the server alone decides when workers end.
    detached: true,
  })
  let isOver = false
  const end = (reason: string): void => {
    if (isOver) return
    isOver = true
    listener.onExit(reason)
  }
  child.on('message', collected<FromWorker<never>>(listener.onMessage))
  child.on('error', (error) => {
    if (child.pid === undefined) end(`it could not be started: ${error.message}`)
  })
  child.on('exit', (code, signal) => end(signal === null ? `exit code ${code}` : signal))
  const sender = new OrderedSender<ToWorker>({
    post: async (message) => {
      // The exit of a worker is reported by `onExit`, so a message to it can be dropped here.
      if (child.connected) await new Promise((resolve) => child.send(message, resolve))
    },
    onRefused: (message) => refuse(message, listener),
  })
  return { send: (message) => sender.send(message), kill: () => child.kill('SIGKILL') }
}

function openThread({ entry, settings }: ChannelOptions, listener: ChannelListener): WorkerChannel {
  const worker = new Worker(entry, {
    name: 'inference',
    argv: [JSON.stringify(settings)],
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB_MAX },
  })
  let reason = 'it ended'
  worker.on('message', collected<FromWorker<never>>(listener.onMessage))
  worker.on('error', (error) => (reason = String(error)))
  worker.on('exit', () => listener.onExit(reason))
  const sender = new OrderedSender<ToWorker>({
    post: (message) => {
      worker.postMessage(message, [])
      return nextTurn()
    },
    onRefused: (message) => refuse(message, listener),
  })
  return { send: (message) => sender.send(message), kill: () => false }
}

function refuse(message: ToWorker, listener: ChannelListener): void {
  if (!('call' in message)) return
  const text = 'what the model was asked cannot be sent to its worker'
  const error = { code: 'INVALID_ARGUMENT', message: text } as const
  listener.onMessage({ kind: 'refusal', call: message.call, error })
}
