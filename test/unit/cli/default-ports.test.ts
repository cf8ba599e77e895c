import { expect } from 'chai'
import { DEMO_PORTS } from '../../../cli/commands/demo.ts'
import { CLUSTER_PORTS, NODES_MAX } from '../../../cli/commands/cluster-start.ts'
import { parseInferenceConfig } from '../../../inference/config.ts'
import { parseNodeConfig } from '../../../node/config.ts'

/** What listens by default, by program. */
const PORTS: Readonly<Record<string, readonly number[]>> = {
  swarm: [parseNodeConfig({}, {})].flatMap(({ apiPort, healthPort }) => [apiPort, healthPort]),
  inference: [parseInferenceConfig({}, {})].flatMap(({ port, healthPort }) => [port, healthPort]),
  demo: Object.values(DEMO_PORTS),
  'cluster start': [
    CLUSTER_PORTS.etcdPort,
    ...[CLUSTER_PORTS.apiPort, CLUSTER_PORTS.healthPort, CLUSTER_PORTS.peerPort].flatMap((first) =>
      Array.from({ length: NODES_MAX }, (_, n) => first + n),
    ),
  ],
  'an etcd of the machine': [2379, 2380],
}

describe('the default ports', () => {
  it('let all programs run side by side', () => {
    const all = Object.values(PORTS).flat()

    expect(all.every((port) => port > 0)).to.equal(true)
    expect(new Set(all).size).to.equal(all.length)
  })
})
