// A worker as something that messages go to and come from. Two ways to have one:
//
//   process  a native crash (an abort, a segmentation fault, an exhausted address space) ends that
//            process alone, and a run that does not end can be killed
//   thread   messages cost a third, but a native crash ends the server, and so would killing
//            a thread in the middle of a run
//
// See docs/decisions/0009-inference-server.md.

import { fork } from 'node:child_process'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import type { Env } from '../../lib/env.ts'
import { collected } from './large-payloads.ts'
import { OrderedSender } from './ordered-sender.ts'
import type { FromWorker, ToWorker, WorkerSettings } from './worker-protocol.ts'

/** Of objects: tokenizers and templates of strangers live there. The largest tokenizers take 1 GiB. */
const HEAP_MIB_MAX = 2_048

/**
 * The GNU C library keeps freed memory, unless it was large when it was asked for, and by default it
 * raises what counts as large with each such block. Held at its first value, a process that has
 * unloaded a model of 90 MB is back at 96 MiB and not at 210.
 */
const ALLOCATOR = { MALLOC_MMAP_THRESHOLD_: '131072' }

/**
 * What a worker is told of the server's environment: how to run, and no secrets. A graph that takes
 * a worker over would find them.
 */
const INHERITED =
  /^(?:PATH|HOME|TMPDIR|TZ|LANG|LC_\w+|LD_LIBRARY_PATH|NODE_\w+|CUDA_\w+|SystemRoot)$/

export const ISOLATIONS = ['process', 'thread'] as const
export type Isolation = (typeof ISOLATIONS)[number]

export interface ChannelListener {
  readonly onMessage: (message: FromWorker<never>) => void
  /** Once, and last. */
  onExit(reason: string): void
}

/**
 * Contract, checked for every kind of worker by test/conformance/worker-channel.ts:
 * - Messages arrive in the order in which they were sent, as structured clones of what was sent.
 * - That the worker has ended is told once, after its last message, whoever ended it.
 * - What is sent to a worker that has ended is lost.
 */
export interface WorkerChannel {
  send(message: ToWorker): void
  /** Ends the worker in the middle of what it does; false if this kind of worker cannot be. */
  kill(): boolean
}

export interface ChannelOptions {
  /** The worker's entry file. */
  readonly entry: URL
  readonly isolation: Isolation
  readonly settings: WorkerSettings
  /** Of worker processes; threads share the server's. */
  readonly environment: Env
  /** What a worker process may allocate; a graph that asks for more fails. Threads share the server's. */
  readonly memoryBytesMax: number
}

export function openWorkerChannel(
  options: ChannelOptions,
  listener: ChannelListener,
): WorkerChannel {
  return options.isolation === 'process'
    ? openProcess(options, listener)
    : openThread(options, listener)
}

function openProcess(
  { entry, settings, environment, memoryBytesMax }: ChannelOptions,
  listener: ChannelListener,
): WorkerChannel {
  const child = fork(entry, [JSON.stringify(settings)], {
    env: { ...inherited(environment), ...ALLOCATOR },
    ...boundedNode(memoryBytesMax),
    serialization: 'advanced', // typed arrays arrive as typed arrays
    // What a crashing library writes is for the log's reader; nothing else writes there.
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
      // A worker that is gone has its exit told; a message to it is lost like one under way.
      if (child.connected) await new Promise((resolve) => child.send(message, resolve))
    },
    onRefused: (message) => refuse(message, listener),
  })
  return { send: (message) => sender.send(message), kill: () => child.kill('SIGKILL') }
}

function inherited(environment: Env): Env {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => INHERITED.test(name)))
}

interface Executable {
  readonly execPath: string
  readonly execArgv: string[]
}

/**
 * Node through a shell that first bounds what it may allocate, because Node cannot do that itself;
 * the shell is replaced, so that the process is the worker. Where memory runs out all the same, the
 * kernel is told to end a worker rather than the server. Only Linux counts a process's allocations.
 */
function boundedNode(memoryBytesMax: number): Executable {
  const node: Executable = {
    execPath: process.execPath,
    execArgv: [`--max-old-space-size=${HEAP_MIB_MAX}`],
  }
  if (process.platform !== 'linux') return node
  const bounds = [
    `ulimit -S -d ${Math.ceil(memoryBytesMax / KIB)}`,
    `echo ${OOM_SCORE} > /proc/self/oom_score_adj`,
  ]
  // A container may allow neither: a worker without bounds is better than none.
  const script = `{ ${bounds.join('; ')}; } 2>/dev/null; exec "$@"`
  return {
    execPath: '/bin/sh',
    execArgv: ['-c', script, 'sh', node.execPath, ...node.execArgv],
  }
}

const KIB = 1024
/** Of 1000: the higher, the sooner. A server has 0. */
const OOM_SCORE = 500

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
