// Runs etcd and the nodes of a cluster as child processes on one machine.
//
//   folder, secret, ports ─► etcd ─answers─► nodes ─all ready─► (running) ─stop─► nodes in order ─► etcd

import { createWriteStream } from 'node:fs'
import type { Clock } from '../../lib/clock.ts'
import { prodWhenLate } from '../../lib/deadline.ts'
import { inheritedEnvironment } from '../../lib/bounded-node.ts'
import type { Env } from '../../lib/env.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { CliError } from '../process/exit.ts'
import { printable } from '../../lib/process/log-words.ts'
import { HttpTransport } from '../service/http-transport.ts'
import { Child, type ChildCommand } from '../children/child.ts'
import { readyPlaces } from '../children/ready-line.ts'
import type { ClusterFolder } from './cluster-folder.ts'
import type { ClusterPorts, NodePorts } from './cluster-ports.ts'
import { isWarning } from './log-view.ts'

const ETCD = 'etcd'
const INFERENCE = 'inference'
const POLL_MS = 100
const START_MAX_MS = 120_000
/** A node hands its leaderships over and flushes; the last nodes have nobody to hand over to. */
const NODE_STOP_MAX_MS = 30_000
const ETCD_STOP_MAX_MS = 10_000
const INFERENCE_STOP_MAX_MS = 10_000

/** What still works when a process has ended. */
const REST_OF_NODE = 'the others serve what they hold; Ctrl-C and a new start bring it back'
const REST_BY_NAME: ReadonlyMap<string, string> = new Map([
  [ETCD, 'the nodes serve, but nothing in the cluster can be changed'],
  [INFERENCE, 'words are found, meanings are not; Ctrl-C and a new start bring it back'],
])

/** What one node is started with. */
export interface NodePlace {
  readonly name: string
  readonly dataDir: string
  readonly cluster: string
  readonly etcdUrl: string
  readonly secretFile: string
  readonly ports: NodePorts
  readonly env: Env
}

/** What a cluster is started with. */
export interface LaunchOptions {
  readonly etcd: string
  readonly cluster: string
  readonly folder: ClusterFolder
  readonly ports: ClusterPorts
  readonly env: Env
  readonly clock: Clock
  /** The command line of a node, which prints a ready line as `quarry swarm` does. */
  readonly commandOf: (place: NodePlace) => ChildCommand
  /** The command line of the inference server that the nodes ask. Undefined: none is started. */
  readonly inference: ChildCommand | undefined
  /** A line of a process's log. */
  readonly onLine: (name: string, line: string) => void
  /** A sentence about a process, for a person. */
  readonly onEvent: (name: string, sentence: string) => void
}

/** A node that is ready. */
export interface ReadyNode {
  readonly name: string
  readonly api: string
  readonly health: string
  readonly pid: number | undefined
  /** The file with its log. */
  readonly log: string
}

/** When a start is given up: on request, and after START_MAX_MS. */
interface StartSignals {
  readonly stop: AbortSignal
  readonly late: AbortSignal
}

/** Starts a cluster and ends it. */
export class Launcher {
  readonly #with: LaunchOptions
  readonly #nodes: Child[] = []
  #etcd: Child | undefined
  #inference: Child | undefined
  #isClosing = false
  readonly #onExit = (): void => this.#killAll()
  readonly #onHangup = (): void => {
    this.#killAll()
    process.kill(process.pid, 'SIGHUP') // the listener is gone, so this ends the process
  }

  constructor(options: LaunchOptions) {
    this.#with = options
    // A second Ctrl-C ends this process at once; what it has started ends with it.
    process.once('exit', this.#onExit)
    // So does a terminal that is closed, of which the groups of the children hear nothing.
    process.once('SIGHUP', this.#onHangup)
  }

  get etcdUrl(): string {
    return `http://127.0.0.1:${this.#with.ports.etcdClient}`
  }

  /**
   * Resolves when every node is ready. Rejects with a CliError when one of the processes ends before, and
   * with the signal's reason when it aborts. What was started runs until `close`.
   */
  async start(stop: AbortSignal): Promise<readonly ReadyNode[]> {
    stop.throwIfAborted()
    const late = new AbortController()
    const started = this.#startAll({ stop, late: late.signal })
    const onLate = (): void => late.abort()
    return prodWhenLate(started, { clock: this.#with.clock, ms: START_MAX_MS, onLate })
  }

  async #startAll(signals: StartSignals): Promise<readonly ReadyNode[]> {
    this.#etcd = this.#startEtcd()
    this.#inference = this.#startInference()
    await this.#untilReady(this.#etcd, this.#etcdAnswers(signals.stop), signals)
    const started = this.#with.ports.nodes.map((ports, index) => this.#startNode(index + 1, ports))
    const ready = started.map(({ child, ready: one }) => this.#untilReady(child, one, signals))
    const nodes = await Promise.all(ready)
    for (const child of this.#all()) void this.#tellOfEnd(child)
    return nodes
  }

  /** Resolves when the last node has ended. */
  async nodesGone(): Promise<void> {
    await Promise.all(this.#nodes.map(({ ended }) => ended))
  }

  /** Ends the nodes one after the other, and then etcd. One that does not end in time is killed. */
  async close(): Promise<void> {
    this.#isClosing = true
    for (const child of this.#nodes) await this.#end(child, NODE_STOP_MAX_MS)
    if (this.#inference !== undefined) await this.#end(this.#inference, INFERENCE_STOP_MAX_MS)
    if (this.#etcd !== undefined) await this.#end(this.#etcd, ETCD_STOP_MAX_MS)
    process.removeListener('exit', this.#onExit)
    process.removeListener('SIGHUP', this.#onHangup)
  }

  #startEtcd(): Child {
    const { etcd, folder, ports, env, onLine } = this.#with
    const peerUrl = `http://127.0.0.1:${ports.etcdPeer}`
    const args = [
      '--name=quarry',
      `--data-dir=${folder.etcd}`,
      `--listen-client-urls=${this.etcdUrl}`,
      `--advertise-client-urls=${this.etcdUrl}`,
      `--listen-peer-urls=${peerUrl}`,
      `--initial-advertise-peer-urls=${peerUrl}`,
      `--initial-cluster=quarry=${peerUrl}`,
      '--logger=zap',
    ]
    // etcd 3.4 serves other machines than x64 only when it is told to.
    const arch = process.arch === 'x64' ? {} : { ETCD_UNSUPPORTED_ARCH: process.arch }
    const command = { command: etcd, args, env: { ...etcdEnvironment(env), ...arch } }
    const onLog = (line: string): void => {
      if (isWarning(line)) onLine(ETCD, line)
    }
    return new Child(ETCD, command, { onOutput: onLog, onLog })
  }

  /** Nobody waits for it: nodes ask it again until it answers. */
  #startInference(): Child | undefined {
    const { inference, onLine } = this.#with
    if (inference === undefined) return undefined
    const onOutput = (line: string): void => {
      if (readyPlaces(line) === undefined) onLine(INFERENCE, line)
    }
    return new Child(INFERENCE, inference, {
      onOutput,
      onLog: (line) => onLine(INFERENCE, line),
    })
  }

  #all(): readonly Child[] {
    return [...this.#nodes, this.#inference, this.#etcd].filter((child) => child !== undefined)
  }

  async #etcdAnswers(stop: AbortSignal): Promise<void> {
    const transport = new HttpTransport(new URL(this.etcdUrl))
    const health = { method: 'GET', path: '/health', headers: {}, body: undefined } as const
    for (;;) {
      try {
        const answer = await transport.send({ ...health, signal: stop })
        answer.resume()
        if (answer.statusCode === 200) return
      } catch (error) {
        if (stop.aborted) throw error
      }
      await this.#with.clock.sleep(POLL_MS, stop)
    }
  }

  #startNode(
    number: number,
    ports: NodePorts,
  ): { readonly child: Child; readonly ready: Promise<ReadyNode> } {
    const { folder, cluster, env, commandOf, onLine } = this.#with
    const name = `node-${number}`
    const { promise: ready, resolve } = Promise.withResolvers<ReadyNode>()
    const place: NodePlace = {
      name,
      dataDir: folder.node(number),
      cluster,
      etcdUrl: this.etcdUrl,
      secretFile: folder.secretFile,
      ports,
      env,
    }
    const log = folder.log(name)
    const kept = createWriteStream(log)
    kept.on('error', (error) => this.#with.onEvent(name, `its log is not kept: ${error.message}`))
    const child = new Child(name, commandOf(place), {
      onOutput: (line) => {
        const places = readyPlaces(line)
        if (places === undefined) onLine(name, line)
        else resolve({ name, ...places, pid: child.pid, log })
      },
      onLog: (line) => {
        kept.write(`${line}\n`)
        onLine(name, line)
      },
    })
    void child.ended.then(() => kept.end())
    this.#nodes.push(child)
    return { child, ready }
  }

  async #untilReady<Ready>(
    child: Child,
    ready: Promise<Ready>,
    { stop, late }: StartSignals,
  ): Promise<Ready> {
    const failed = child.ended.then((how): never => {
      stop.throwIfAborted()
      throw startFailure(child, how)
    })
    const tooLate = aborted(late).then((): never => {
      throw startFailure(child, `was not ready in ${START_MAX_MS / 1000} s`)
    })
    const stopped = aborted(stop).then((): never => {
      throw stop.reason
    })
    return Promise.race([ready, failed, tooLate, stopped])
  }

  async #tellOfEnd(child: Child): Promise<void> {
    const how = await child.ended
    if (this.#isClosing) return
    const rest = REST_BY_NAME.get(child.name) ?? REST_OF_NODE
    this.#with.onEvent(child.name, `${how}: ${rest}`)
  }

  async #end(child: Child, waitMs: number): Promise<void> {
    if (!child.isRunning) return
    const onLate = (): void => {
      this.#with.onEvent(child.name, `does not end in ${waitMs / 1000} s and is killed`)
      child.kill()
    }
    const { clock } = this.#with
    const how = await prodWhenLate(child.terminate(), { clock, ms: waitMs, onLate })
    this.#with.onEvent(child.name, how)
  }

  #killAll(): void {
    for (const child of this.#all()) if (child.isRunning) child.kill()
  }
}

function startFailure({ name, tail }: Child, how: string): CliError {
  const lines = tail.map((line) => `  ${printable(line)}`)
  const said = lines.length === 0 ? '' : `; its last lines:\n${lines.join('\n')}`
  return new CliError(EXIT.configuration, 'START', `${name} ${how}${said}`)
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve()
    else signal.addEventListener('abort', () => resolve(), { once: true })
  })
}

/** Its own settings, and none of the secrets of the nodes. */
function etcdEnvironment(env: Env): Env {
  const own = Object.entries(env).filter(([name]) => name.startsWith('ETCD_'))
  return { ...inheritedEnvironment(env), ...Object.fromEntries(own) }
}
