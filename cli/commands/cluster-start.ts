import { once } from 'node:events'
import path from 'node:path'
import type { Command } from 'commander'
import type { ChildCommand } from '../children/child.ts'
import { ownInferenceArgs } from '../children/own-inference-args.ts'
import { ownInferenceEnvironment } from '../children/own-inference-environment.ts'
import { openClusterFolder } from '../cluster-start/cluster-folder.ts'
import { choosePorts, type ClusterPorts, type FirstPorts } from '../cluster-start/cluster-ports.ts'
import { findEtcd } from '../cluster-start/etcd-binary.ts'
import {
  Launcher,
  type LaunchOptions,
  type NodePlace,
  type ReadyNode,
} from '../cluster-start/launcher.ts'
import { LogView } from '../cluster-start/log-view.ts'
import { parseLauncherSettings } from '../config.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ownCommand } from '../../lib/own-command.ts'
import type { CliContext } from '../process/context.ts'
import { CliError } from '../process/exit.ts'
import { paint, writeLine } from '../process/terminal.ts'
import type { Output } from '../process/terminal.ts'
import { plural } from '../render/quantity.ts'
import { examples, integerOption } from './client-command.ts'

const BIN = path.resolve(import.meta.dirname, '../../bin/quarry')
export const NODES_MAX = 9
const INFERENCE_URL = 'QUARRY_INFERENCE_URL'
const PORT_MAX = 65_000
/** The first ports; up to NODES_MAX nodes of them leave alone what a swarm, an inference server or an etcd listens on. */
export const CLUSTER_PORTS = {
  apiPort: 8081,
  healthPort: 4211,
  peerPort: 7400,
  etcdPort: 12_379,
} as const

interface StartOptions extends FirstPorts {
  readonly nodes: number
  readonly dataDir: string
  readonly cluster: string
  readonly logLevel: string
  readonly json?: boolean
  /** False: no inference server is started. */
  readonly inference?: boolean
}

const HELP = `
Starts etcd and the nodes as processes of their own, and prints their addresses
when all are ready. Their log goes to standard error, each line with the name of
its process. Ctrl-C ends the nodes one after the other and then etcd; a second
Ctrl-C ends all at once. A process that ends by itself is reported, and the others
stay. Node n has the n-th port from each of the given ones; 0 takes free ports.
QUARRY_ETCD names the etcd to run, if it is not in PATH. The nodes share an
inference server, which is started too unless QUARRY_INFERENCE_URL names one.
${examples(
  ['three nodes in ./cluster', ownCommand('cluster start')],
  ['five, for a test', ownCommand('cluster start --nodes 5 --data-dir /tmp/five --api-port 0')],
)}`

/** `commandOf` is the command line of a node. */
export function addClusterStartCommand(
  cluster: Command,
  context: CliContext,
  commandOf: (
    place: NodePlace,
    options: { readonly logLevel: string },
  ) => ChildCommand = quarryNode,
): void {
  const port = integerOption(0, PORT_MAX)
  cluster
    .command('start')
    .summary('run a cluster on this machine')
    .description('Run etcd and several nodes on this machine.')
    .option('--nodes <n>', 'number of nodes', integerOption(1, NODES_MAX), 3)
    .option('--data-dir <dir>', 'where etcd and the nodes keep their data', './cluster')
    .option('--cluster <name>', 'name of the cluster', 'local')
    .option('--api-port <port>', 'port of the first node', port, CLUSTER_PORTS.apiPort)
    .option('--health-port <port>', 'health port of the first node', port, CLUSTER_PORTS.healthPort)
    .option('--peer-port <port>', "the first node's port for others", port, CLUSTER_PORTS.peerPort)
    .option('--etcd-port <port>', 'port of etcd', port, CLUSTER_PORTS.etcdPort)
    .option('--log-level <level>', 'of the nodes: debug, info, warn, error', 'warn')
    .option('--no-inference', 'start no inference server')
    .option('--json', 'print the addresses as one line of JSON')
    .addHelpText('after', HELP)
    .action((options: StartOptions) =>
      runCluster(options, context, (place) => commandOf(place, options)),
    )
}

async function runCluster(
  options: StartOptions,
  context: CliContext,
  commandOf: (place: NodePlace) => ChildCommand,
): Promise<void> {
  const { nodes, cluster, dataDir } = options
  const { err } = context.terminal
  const stop = context.stopSignal()
  const names = Array.from({ length: nodes }, (_, index) => `node-${index + 1}`)
  const others = startsInference(options, context) ? ['etcd', 'inference'] : ['etcd']
  const log = new LogView(err, [...names, ...others])
  const etcd = await findEtcd(parseLauncherSettings(context.env))
  const ports = await choosePorts(options, nodes)
  const folder = await openClusterFolder(dataDir)
  const launcher = new Launcher({
    etcd,
    cluster,
    folder,
    ports,
    commandOf,
    ...inferenceOf(options, ports, context),
    clock: context.clock,
    onLine: (name, line) => log.line(name, line),
    onEvent: (name, sentence) => log.event(name, sentence),
  })
  try {
    const ready = await launcher.start(stop)
    await showPlaces(ready, launcher.etcdUrl, { options, context })
    await Promise.race([once(stop, 'abort'), launcher.nodesGone()])
    if (!stop.aborted) throw new CliError(EXIT.internal, 'ENDED', 'every node has ended by itself')
  } catch (error) {
    if (!stop.aborted) throw error
  } finally {
    await launcher.close()
    await folder.release()
  }
}

function startsInference({ inference = true }: StartOptions, { env }: CliContext): boolean {
  return inference && env[INFERENCE_URL] === undefined
}

/** The environment of the nodes names the server that is started for them. */
function inferenceOf(
  options: StartOptions,
  { inference: port }: ClusterPorts,
  context: CliContext,
): Pick<LaunchOptions, 'inference' | 'env'> {
  const { env } = context
  if (!startsInference(options, context)) return { inference: undefined, env }
  const args = ownInferenceArgs({ port: String(port), logLevel: options.logLevel })
  return {
    inference: { command: process.execPath, args, env: ownInferenceEnvironment(env) },
    env: { ...env, [INFERENCE_URL]: `http://127.0.0.1:${port}` },
  }
}

async function showPlaces(
  nodes: readonly ReadyNode[],
  etcdUrl: string,
  { options, context }: { readonly options: StartOptions; readonly context: CliContext },
): Promise<void> {
  const { out } = context.terminal
  if (options.json === true) {
    return writeLine(out, JSON.stringify({ event: 'ready', nodes, etcd: etcdUrl }))
  }
  const title = `Cluster ${options.cluster} runs with ${plural(nodes.length, 'node')}.`
  await writeLine(out, paint(out, 'bold', `${title} Press Ctrl-C to end it.`))
  for (const { name, api, health, pid, log } of nodes) {
    await writeLine(out, placeLine(out, name, `${api}/api/v1   ${health}/metrics`))
    await writeLine(
      out,
      `  ${' '.repeat(9)}${paint(out, 'dim', `process ${pid ?? '-'}   log ${log}`)}`,
    )
  }
  return writeLine(out, placeLine(out, 'etcd', etcdUrl))
}

function placeLine(out: Output, name: string, where: string): string {
  return `  ${paint(out, 'dim', name.padEnd(9))}${paint(out, 'cyan', where)}`
}

/** This very program as a node. */
function quarryNode(
  { name, dataDir, cluster, etcdUrl, secretFile, ports, env }: NodePlace,
  { logLevel }: { readonly logLevel: string },
): ChildCommand {
  const options = {
    '--data-dir': dataDir,
    '--cluster': cluster,
    '--node-name': name,
    '--etcd': etcdUrl,
    '--cluster-secret-file': secretFile,
    '--api-port': String(ports.apiPort),
    '--health-port': String(ports.healthPort),
    '--peer-port': String(ports.peerPort),
    '--log-level': logLevel,
  }
  const args = Object.entries(options).flat()
  return { command: process.execPath, args: [BIN, 'node', ...args], env }
}
