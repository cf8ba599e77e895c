import { once } from 'node:events'
import type { Command } from 'commander'
import { Lifecycle } from '../../lib/lifecycle.ts'
import type { LogLevel } from '../../lib/log.ts'
import type { Flags } from '../../lib/options.ts'
import { ownCommand } from '../../lib/own-command.ts'
import { NODE_OPTIONS, parseClusterNodeConfig } from '../../node/cluster-config.ts'
import type { RunningNode } from '../../node/main.ts'
import type { CliContext } from '../process/context.ts'
import { reasonOf } from '../process/stop-reason.ts'
import { showReady } from '../render/server-view.ts'
import { examples } from './client-command.ts'
import { explainStart } from './explain-start.ts'
import { addServerOptions, readConfigFile, settingsHelp } from './server-options.ts'

interface NodeFlags extends Flags {
  readonly config?: string
}

const HELP = `
The first node of a cluster creates it. All nodes name the same cluster, the same
etcd and the same secret. When the node serves, it prints its addresses on standard
output: as one line of JSON, if that is not a terminal. The log goes to standard
error, as JSON lines, if that is not a terminal. Ctrl-C hands its leaderships over and ends the node in order, a second Ctrl-C at once.
SIGHUP loads secrets, certificates and the level of the log again, unless standard
input is a terminal; so does ${ownCommand('cluster reload')}. Secrets and certificates
that change are loaded without it, within about a minute.
${settingsHelp(NODE_OPTIONS)}${examples([
  'a node of the cluster "books"',
  ownCommand(
    'node --data-dir ./data --cluster books --etcd http://etcd:2379 --cluster-secret-file secret',
  ),
])}`

export function addNodeCommand(program: Command, context: CliContext): void {
  const command = program
    .command('node')
    .summary('run one node of a cluster')
    .description(
      'Run one node of a cluster, whose nodes find each other by etcd. A preview: see docs/how-to/run-a-cluster.md.',
    )
  addServerOptions(command, NODE_OPTIONS)
    .addHelpText('after', HELP)
    .action((options: NodeFlags) => runNode(options, context))
}

/** The umask of a process that writes a data directory: directories 0700, files 0600. */
const OWNER_ONLY = 0o077

async function runNode({ config, ...flags }: NodeFlags, context: CliContext): Promise<void> {
  const stop = context.stopSignal()
  await using life = new Lifecycle()
  const node = await start(flags, context, { configPath: config, stop })
  if (node === undefined) return
  life.onClose(() => node.close(reasonOf(stop)))
  // A terminal that is closed ends the node; a service manager wants its files loaded again.
  if (!context.terminal.stdinIsTty) life.onClose(context.onHangup(() => void node.reload()))
  const places = { api: node.apiUrl, health: node.healthUrl }
  const more = [['page', `${node.apiUrl}/api/v1/docs`]] as const
  await showReady({ name: 'The node', places, more }, context.terminal.out)
  if (!stop.aborted) await once(stop, 'abort')
}

/** Undefined if the user has ended the start, which may have to wait for etcd. */
async function start(
  flags: Flags,
  { env }: CliContext,
  { configPath, stop }: { readonly configPath: string | undefined; readonly stop: AbortSignal },
): Promise<RunningNode | undefined> {
  const file = await readConfigFile(configPath)
  try {
    const config = parseClusterNodeConfig(env, flags, file)
    // LevelDB asks for modes of its own; only the umask keeps its files from other users.
    process.umask(OWNER_ONLY)
    const { startClusterNode } = await import('../../node/cluster-node.ts')
    const levelOf = async (): Promise<LogLevel> =>
      parseClusterNodeConfig(env, flags, await readConfigFile(configPath)).logLevel
    return await startClusterNode(config, stop, levelOf)
  } catch (error) {
    if (stop.aborted) return undefined
    throw explainStart(error, '--api-port, --health-port and --peer-port')
  }
}
