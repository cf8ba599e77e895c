import { once } from 'node:events'
import { createServer } from 'node:net'
import { EXIT } from '../../lib/process/exit-codes.ts'
import { must } from '../../lib/assert.ts'
import { isFree } from '../demo/free-port.ts'
import { CliError } from '../process/exit.ts'

/** The first port of each kind; node n has the n-th from it on. 0: any free ones. */
export interface FirstPorts {
  readonly apiPort: number
  readonly healthPort: number
  readonly peerPort: number
  readonly etcdPort: number
}

/** The ports of one node; 0 lets the node take a free one. */
export type NodePorts = Omit<FirstPorts, 'etcdPort'>

/** All ports of a cluster. */
export interface ClusterPorts {
  readonly nodes: readonly NodePorts[]
  readonly etcdClient: number
  /** etcd asks for one, though its only member never uses it. */
  readonly etcdPeer: number
  /** The port of the inference server that the nodes share. */
  readonly inference: number
}

const FLAGS: Readonly<Record<keyof FirstPorts, string>> = {
  apiPort: '--api-port',
  healthPort: '--health-port',
  peerPort: '--peer-port',
  etcdPort: '--etcd-port',
}

/** Chooses the ports. Refuses the first one that another program has, with the flag to change it. */
export async function choosePorts(first: FirstPorts, nodes: number): Promise<ClusterPorts> {
  const chosen = Array.from({ length: nodes }, (_, index) => ({
    apiPort: at(first.apiPort, index),
    healthPort: at(first.healthPort, index),
    peerPort: at(first.peerPort, index),
  }))
  for (const ports of chosen) {
    await assertFree(ports.apiPort, 'apiPort')
    await assertFree(ports.healthPort, 'healthPort')
    await assertFree(ports.peerPort, 'peerPort')
  }
  await assertFree(first.etcdPort, 'etcdPort')
  const [client, peer, inference] = await freePorts(3)
  const etcdClient = first.etcdPort === 0 ? must(client, 'a port') : first.etcdPort
  return {
    nodes: chosen,
    etcdClient,
    etcdPeer: must(peer, 'a port'),
    inference: must(inference, 'a port'),
  }
}

function at(base: number, index: number): number {
  return base === 0 ? 0 : base + index
}

async function assertFree(port: number, kind: keyof FirstPorts): Promise<void> {
  if (port === 0 || (await isFree(port))) return
  const remedy = `stop the program that uses it, or choose others with ${FLAGS[kind]}`
  throw new CliError(EXIT.configuration, 'CONFIGURATION', `port ${port} is in use: ${remedy}`)
}

/** Ports that nobody listens on now. All are held at once, so that they differ. */
async function freePorts(count: number): Promise<readonly number[]> {
  const servers = Array.from({ length: count }, () => createServer())
  const ports: number[] = []
  for (const server of servers) {
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
    const address = server.address()
    if (typeof address === 'object' && address !== null) ports.push(address.port)
  }
  for (const server of servers) {
    server.close()
    await once(server, 'close')
  }
  return ports
}
