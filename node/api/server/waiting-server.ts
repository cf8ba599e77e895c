// The API of a node that waits before an older control plane: it answers what ends the wait, and what a server says of
// itself. It gives the address back before the node serves.

import { ServiceError } from '../../../lib/errors.ts'
import { ownCommand } from '../../../lib/own-command.ts'
import type { RunningServer } from '../../../lib/http/listener.ts'
import type { Handler, OperationRow, OperationTable } from '../../../door/operation.ts'
import type { ClusterService } from '../../steering/cluster-service.ts'
import { getContract } from '../handlers/get-contract.ts'
import { getDocs } from '../handlers/get-docs.ts'
import { getHealth } from '../handlers/get-health.ts'
import { recoverCluster } from '../handlers/recover-cluster.ts'
import { startStoreDoor, type DoorContext, type StoreDoorOptions } from './api-server.ts'
import { OPERATIONS } from './handler-table.ts'

interface Waiting {
  readonly cluster: Pick<ClusterService, 'recover'>
}

type WaitingContext = Waiting & DoorContext

/** The caller closes it when the wait is over. */
export function startWaitingServer(
  options: StoreDoorOptions,
  recover: ClusterService['recover'],
): Promise<RunningServer> {
  return startStoreDoor<Waiting>(options, WAITING, { cluster: { recover } })
}

const ANSWERED: Readonly<Record<string, Handler<WaitingContext>>> = {
  getContract,
  getDocs,
  getHealth,
  recoverCluster,
}

const WAITING: OperationTable<WaitingContext> = Object.fromEntries(
  Object.entries(OPERATIONS).map(([id, { body }]): [string, OperationRow<WaitingContext>] => {
    return [id, { body, handle: ANSWERED[id] ?? refuse, way: 'express' }]
  }),
)

function refuse(): never {
  throw new ServiceError(
    'UNAVAILABLE',
    'the control plane is older than what this node has seen, so the node waits; ' +
      `restart all nodes, so that each reports what it knows, and then run "${ownCommand('cluster recover')}"`,
  )
}
