// `quarry k8s`: what people see of clusters on Kubernetes. What asks Kubernetes is loaded when it is asked.

import type { Command } from 'commander'
import { ownCommand } from '../../lib/own-command.ts'
import type { K8sStatusOptions } from '../k8s/show-cluster-status.ts'
import type { CliContext } from '../process/context.ts'
import { examples } from './client-command.ts'

const HELP = `
It reads the StoreCluster, its pods and its events with the rights of your
kubeconfig: KUBECONFIG, or ~/.kube/config. Of what needs attention it says what to
do, and where docs/reference/handbook.md tells more.
${examples(
  ['a cluster in the namespace of the current context', ownCommand('k8s status books')],
  [
    'elsewhere, for a program',
    ownCommand('k8s status books -n library --context production --json'),
  ],
)}`

export function addK8sCommand(program: Command, context: CliContext): void {
  const k8s = program
    .command('k8s')
    .summary('show clusters on Kubernetes')
    .description('Show clusters that the operator runs on Kubernetes.')
  k8s
    .command('status <cluster>')
    .summary('show a StoreCluster on one screen')
    .description(
      'Show a StoreCluster on one screen: its nodes, the operation in flight, volumes, etcd, and what needs attention.',
    )
    .option('-n, --namespace <namespace>', "the namespace (default: the context's)")
    .option('--context <context>', 'the context of the kubeconfig (default: the current one)')
    .option('--all', 'list every node, of large clusters too')
    .option('--json', 'print JSON, for programs')
    .addHelpText('after', HELP)
    .action(async (cluster: string, options: K8sStatusOptions) => {
      const { showClusterStatus } = await import('../k8s/show-cluster-status.ts')
      await showClusterStatus(cluster, options, context)
    })
}
