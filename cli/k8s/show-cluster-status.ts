// Reads a StoreCluster and shows it.

import { KubernetesClient } from '../../operator/runtime/client/kubernetes-client.ts'
import { readKubeConfig } from '../../operator/runtime/client/kube-config-file.ts'
import type { CliContext } from '../process/context.ts'
import { writeLine } from '../process/terminal.ts'
import { buildReport } from './cluster-report.ts'
import { readCluster } from './cluster-reader.ts'
import { explainApi } from './explain-api.ts'
import { describeReport } from './report-view.ts'

/** What `k8s status` is asked with. */
export interface K8sStatusOptions {
  readonly namespace?: string
  readonly context?: string
  readonly all?: boolean
  readonly json?: boolean
}

export async function showClusterStatus(
  name: string,
  options: K8sStatusOptions,
  context: CliContext,
): Promise<void> {
  const { env, clock, terminal } = context
  const { config, server, ...usual } = readKubeConfig({ env, context: options.context })
  const namespace = options.namespace ?? usual.namespace
  const place = { context: usual.context, server, namespace, name }
  await using client = new KubernetesClient(config, clock)
  try {
    const report = buildReport(await readCluster(client, place, context.stopSignal()), place)
    const { out } = terminal
    const view = { screen: out, nowMs: clock.nowMs(), isWhole: options.all === true }
    const isJson = options.json === true
    await writeLine(out, isJson ? JSON.stringify(report) : describeReport(report, view))
  } catch (error) {
    throw explainApi(error, place)
  }
}
