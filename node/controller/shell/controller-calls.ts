// The controller over the peer protocol. Format: docs/reference/formats/controller-calls.md.

import { ServiceError } from '../../../lib/errors.ts'
import type { NodeRegistration } from '../core/records/node-record.ts'
import type { NodeId } from '../../replication/core/configuration.ts'
import { peerAddress } from '../../cluster/peer-address.ts'
import type { PeerAddress, PeerHandler, PeerHandlers, PeerNode } from '../../peer/peer.ts'
import type { Controller } from './controller.ts'
import {
  answerRequest,
  decodeAnswer,
  decodeRequest,
  decodeTold,
  encodeAnswer,
  encodeRequest,
  encodeTold,
  type ControllerAnswer,
  type ControllerRequest,
} from './controller-requests.ts'
import type { NodeTold } from './node-told.ts'

/** Operations 96 to 111 are the cluster's. */
const CONTROLLER_REQUEST = 96
const TOLD = 97

/**
 * What a node answers as a candidate for controller. A node that is not elected refuses with NOT_LEADER:
 * nothing happened.
 */
export function controllerHandlers(controller: Controller): PeerHandlers {
  const asked: PeerHandler = {
    kind: 'call',
    handle: async ({ body }) => {
      const request = decodeRequest(body)
      const { elected } = controller
      if (elected === undefined) throw notElected()
      return encodeAnswer(await answerRequest(elected, request))
    },
  }
  const told: PeerHandler = {
    kind: 'message',
    handle: ({ body }) => {
      controller.elected?.hear(decodeTold(body))
      return undefined
    },
  }
  return new Map<number, PeerHandler>([
    [CONTROLLER_REQUEST, asked],
    [TOLD, told],
  ])
}

/** How a node reaches the controller on another one. */
export interface ControllerPeers {
  /** Rejects as `PeerLink.call` does, and with UNAVAILABLE for a node without a known address. */
  ask(node: NodeId, request: ControllerRequest, timeoutMs: number): Promise<ControllerAnswer>
  /** What is told may get lost; it is told again. */
  tell(node: NodeId, told: NodeTold): void
}

/** The peers by the transport. `addressOf` answers `host:port`, as registrations have it. */
export function controllerPeers(
  node: PeerNode,
  addressOf: (id: NodeId) => NodeRegistration['addresses'] | undefined,
): ControllerPeers {
  const address = (id: NodeId): PeerAddress => {
    const known = peerAddress(id, addressOf(id)?.peer ?? '')
    if (known !== undefined) return known
    throw new ServiceError('UNAVAILABLE', `the address of node ${id} is not known`)
  }
  return {
    ask: async (id, request, timeoutMs) => {
      const call = { operation: CONTROLLER_REQUEST, body: encodeRequest(request) }
      return decodeAnswer(await node.link(address(id)).call(call, { timeoutMs }))
    },
    tell: (id, told) => {
      node.link(address(id)).send({ operation: TOLD, body: encodeTold(told) })
    },
  }
}

function notElected(): ServiceError {
  return new ServiceError('NOT_LEADER', 'this node is not the controller')
}
