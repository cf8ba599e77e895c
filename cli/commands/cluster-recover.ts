import type { Command } from 'commander'
import { isServiceError } from '../../lib/errors.ts'
import type { Flags } from '../../lib/options.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ownCommand } from '../../lib/own-command.ts'
import type { CliContext } from '../process/context.ts'
import { CliError } from '../process/exit.ts'
import { writeLine } from '../process/terminal.ts'
import { examples } from './client-command.ts'

/** Those of a node that say where etcd is, with the same names. */
const ETCD_OPTIONS: Readonly<Record<string, string>> = {
  '--cluster <name>': 'the cluster to recover',
  '--etcd <urls>': 'members of etcd, separated by commas',
  '--etcd-user <name>': 'user of etcd, if it asks for one',
  '--etcd-password-file <file>': "the user's password",
  '--etcd-ca <file>': "authority (PEM) of etcd's certificates, if it is not one that Node trusts",
  '--etcd-cert <file>': 'certificate (PEM) for etcd, if etcd asks for one',
  '--etcd-key <file>': 'key (PEM) of that certificate',
}

interface RecoverFlags extends Flags {
  readonly json?: true
}

const HELP = `
For a cluster whose etcd was restored from a backup. Stop all nodes, restore etcd,
start all nodes: each finds that etcd is older than what it has seen, reports what
it knows, and waits. Then run this. It raises the epochs of all shards above those
that replicas have promised, takes the newest configuration of each shard that a
node knows, deletes nothing, and prints what it decided. The nodes continue.
${examples([
  'after a restore of etcd',
  ownCommand('cluster recover --cluster books --etcd http://etcd:2379'),
])}`

export function addClusterRecoverCommand(cluster: Command, context: CliContext): void {
  const command = cluster
    .command('recover')
    .summary('make a restored etcd the newest again')
    .description('Make the control plane of a cluster the newest again after its restore.')
  for (const [flag, help] of Object.entries(ETCD_OPTIONS)) command.option(flag, help)
  command
    .option('--without <nodes>', 'ids of nodes that are gone for good, separated by commas')
    .option('--json', 'one line of JSON for each shard')
    .addHelpText('after', HELP)
    .action(async ({ json, without, ...flags }: RecoverFlags & { readonly without?: string }) => {
      await recover(flags, { without: without?.split(',') ?? [], isJson: json === true }, context)
    })
}

async function recover(
  flags: Flags,
  { without, isJson }: { readonly without: readonly string[]; readonly isJson: boolean },
  { env, terminal: { out } }: CliContext,
): Promise<void> {
  const { parseEtcdConfig } = await import('../../node/cluster-config.ts')
  const { recoverControlPlane } = await import('../../node/recover-control-plane.ts')
  try {
    const config = parseEtcdConfig(env, flags)
    const { number, reported, shards, unknown } = await recoverControlPlane(config, without)
    if (isJson) {
      for (const shard of shards) await writeLine(out, JSON.stringify(shard))
      for (const path of unknown) await writeLine(out, JSON.stringify({ path, unknown: true }))
      return
    }
    for (const { path, epoch, from, inSync } of shards) {
      const source = from === undefined ? 'etcd' : `node ${from}`
      await writeLine(
        out,
        `${path}: epoch ${epoch}, as ${source} knew it; in sync ${inSync.join(', ')}`,
      )
    }
    for (const path of unknown) {
      await writeLine(
        out,
        `${path}: etcd does not know it any more; its replicas stay on the disks`,
      )
    }
    const counts = `${shards.length} shards, as ${reported.length} nodes reported them`
    await writeLine(out, `Recovery ${number}: ${counts}. The nodes continue.`)
  } catch (error) {
    if (!isServiceError(error)) throw error
    const isAway = error.code === 'UNAVAILABLE'
    const code = isAway ? EXIT.unreachable : EXIT.refused
    throw new CliError(code, error.code, error.message, { cause: error })
  }
}
