import type { Command } from 'commander'
import { isServiceError } from '../../lib/errors.ts'
import type { Flags } from '../../lib/options.ts'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { ownCommand } from '../../lib/own-command.ts'
import type { CliContext } from '../process/context.ts'
import { CliError, usageError } from '../process/exit.ts'
import { writeLine } from '../process/terminal.ts'
import { parseRecovery, recoveryShown, type RecoveryShown } from '../service/recovery-answer.ts'
import { clientCommand, examples, openClient } from './client-command.ts'

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
  readonly url: string
  readonly json?: true
}

const HELP = `
For a cluster whose etcd was restored from a backup. Stop all nodes, restore etcd,
start all nodes: each finds that etcd is older than what it has seen, reports what
it knows, and waits. Then run this. It raises the epochs of all shards above those
that replicas have promised, takes the newest configuration of each shard that a
node knows, deletes nothing, and prints what it decided. The nodes continue. It asks
any node, one that waits as well; with --etcd it asks etcd and needs no node.
${examples(
  ['after a restore of etcd', ownCommand('cluster recover --url http://node-1.example:8080')],
  ['without a node', ownCommand('cluster recover --cluster books --etcd http://etcd:2379')],
)}`

export function addClusterRecoverCommand(cluster: Command, context: CliContext): void {
  const command = clientCommand(cluster.command('recover'), context)
    .summary('make a restored etcd the newest again')
    .description('Make the control plane of a cluster the newest again after its restore.')
  for (const [flag, help] of Object.entries(ETCD_OPTIONS)) command.option(flag, help)
  command
    .option('--without <nodes>', 'ids of nodes that are gone for good, separated by commas')
    .addHelpText('after', HELP)
    .action(
      async ({ json, url, without, ...flags }: RecoverFlags & { readonly without?: string }) => {
        const left = without?.split(',') ?? []
        const recovery = isOfEtcd(command, flags, context)
          ? await recoverInEtcd(flags, left, context)
          : await recoverByNode(url, left, context)
        await print(recovery, { isJson: json === true }, context)
      },
    )
}

/** Whether the command asks etcd: by its options, or by the environment where no URL is given. */
function isOfEtcd(command: Command, flags: Flags, { env }: CliContext): boolean {
  const hasUrl = command.getOptionValueSource('url') === 'cli'
  const hasEtcd = flags['etcd'] !== undefined || flags['cluster'] !== undefined
  if (hasUrl && hasEtcd) throw usageError('--url and --etcd: give one of them')
  return hasEtcd || (!hasUrl && env['QUARRY_ETCD_URLS'] !== undefined)
}

async function recoverByNode(
  url: string,
  without: readonly string[],
  context: CliContext,
): Promise<RecoveryShown> {
  const client = openClient({ url }, context)
  const body = JSON.stringify({ without })
  const { text } = await client.request({ method: 'POST', path: '/cluster/recover', body })
  return parseRecovery(text)
}

async function recoverInEtcd(
  flags: Flags,
  without: readonly string[],
  { env }: CliContext,
): Promise<RecoveryShown> {
  const { parseEtcdConfig } = await import('../../node/cluster-config.ts')
  const { recoverControlPlane } = await import('../../node/recover-control-plane.ts')
  try {
    const config = parseEtcdConfig(env, flags)
    return recoveryShown(await recoverControlPlane(config, without))
  } catch (error) {
    if (!isServiceError(error)) throw error
    const isAway = error.code === 'UNAVAILABLE'
    const code = isAway ? EXIT.unreachable : EXIT.refused
    throw new CliError(code, error.code, error.message, { cause: error })
  }
}

async function print(
  { isPerformed, number, reported, total, shards, unknown }: RecoveryShown,
  { isJson }: { readonly isJson: boolean },
  { terminal: { out } }: CliContext,
): Promise<void> {
  if (isJson) {
    for (const shard of shards) await writeLine(out, JSON.stringify(shard))
    for (const path of unknown) await writeLine(out, JSON.stringify({ path, unknown: true }))
    return
  }
  for (const { path, epoch, from, inSync } of shards) {
    const source = from === undefined ? 'etcd' : `node ${from}`
    const members = inSync.join(', ')
    await writeLine(out, `${path}: epoch ${epoch}, as ${source} knew it; in sync ${members}`)
  }
  for (const path of unknown) {
    await writeLine(out, `${path}: etcd does not know it any more; its replicas stay on the disks`)
  }
  const counts = `${total} shards, as ${reported} nodes reported them`
  await writeLine(
    out,
    isPerformed
      ? `Recovery ${number}: ${counts}. The nodes continue.`
      : `No node waits before an older etcd: nothing was changed.${describeLast(number)}`,
  )
}

/** A caller whose recovery another caller has done meanwhile learns its number. */
function describeLast(number: number): string {
  return number === 0 ? '' : ` Recovery ${number} was the last.`
}
