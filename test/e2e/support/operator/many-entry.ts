// An operator in a process of its own, over many clusters of one node whose stores are well. It tells its parent, by one line each
// fourth of a second: how many clusters it has asked for their state, how often, its memory, and its processor time.
//
//   node many-entry.ts KUBECONFIG NAMESPACE USER [LEASE]

import { must } from '../../../../lib/assert.ts'
import { systemClock } from '../../../../lib/clock.ts'
import { parseOperatorConfig } from '../../../../operator/config.ts'
import { startOperator } from '../../../../operator/main.ts'
import type { StoreView } from '../../../../operator/machines/observed/store-view.ts'
import { KubeConfig } from '../../../../operator/runtime/client/kube-config.ts'

const TELL_MS = 250
const [kubeconfig = '', namespace = '', impersonateUser = '', leaseName = ''] =
  process.argv.slice(2)

const asked = new Set<string>()
let looks = 0

function viewOf(uid: string): StoreView {
  const node = {
    id: uid,
    zone: '',
    state: 'serving',
    condition: 'serving',
    replicas: 0,
    leaders: 0,
    safeToStop: true,
  } as const
  return {
    readAtMs: systemClock.nowMs(),
    ageMs: 0,
    health: 'healthy',
    version: '0.1.0',
    isControlled: true,
    shards: { total: 0, underReplicated: 0, unavailable: 0 },
    nodes: [node],
  }
}

const kubeConfig = new KubeConfig()
kubeConfig.loadFromFile(kubeconfig)
const [user] = kubeConfig.users
kubeConfig.users = [{ ...must(user, 'a kubeconfig with a user'), impersonateUser }]

const nothing = async (): Promise<void> => undefined
await startOperator(
  {
    ...parseOperatorConfig({ POD_NAME: 'many', POD_NAMESPACE: namespace }, {}),
    watchNamespaces: [namespace],
    leaseName,
    healthPort: 0,
    metricsPort: 0,
    logLevel: 'error',
  },
  {
    kubeConfig,
    admins: {
      store: ({ cluster }) => ({
        look: async () => {
          asked.add(cluster.uid)
          looks += 1
          return viewOf(cluster.uid)
        },
        handOver: nothing,
        drain: nothing,
        undrain: nothing,
        decommission: nothing,
        forget: nothing,
      }),
      etcd: () => {
        throw new RangeError('one node has no etcd')
      },
    },
  },
)
systemClock.every(TELL_MS, async () => {
  const taken = process.cpuUsage()
  const cpuMs = Math.round((taken.user + taken.system) / 1000)
  const figures = [asked.size, looks, process.memoryUsage.rss(), cpuMs]
  process.stdout.write(`asked ${figures.join(' ')}\n`)
})
