// Who may speak with whom: the peers and ports of Kubernetes' NetworkPolicy.

import { choice, integer, integerOrText, list, object, optional, text } from '../schema/fields.ts'
import { labelSelector } from './selectors.ts'

const PEERS_MAX = 32
const PORTS_MAX = 32
const EXCEPTIONS_MAX = 32
const CIDR_LENGTH_MAX = 64
const PORT_NAME_LENGTH_MAX = 15

export const PORT_MAX = 65_535

export function cidr(description: string) {
  return text(description, { max: CIDR_LENGTH_MAX, min: 1, pattern: '^[0-9a-fA-F.:]+/[0-9]+$' })
}

export function peers(description: string) {
  return list(
    description,
    object('One peer: pods, or a range of addresses.', {
      podSelector: optional(
        labelSelector('Pods by their labels; empty: every pod of the namespaces that are meant.'),
      ),
      namespaceSelector: optional(
        labelSelector("Namespaces by their labels; empty: every one; absent: the cluster's own."),
      ),
      ipBlock: optional(
        object('A range of addresses, instead of pods.', {
          cidr: cidr('The range, such as 192.0.2.0/24.'),
          except: optional(
            list('Ranges within it that are not meant.', cidr('A range.'), { max: EXCEPTIONS_MAX }),
          ),
        }),
      ),
    }),
    { max: PEERS_MAX },
  )
}

export function egressRules(description: string) {
  return list(
    description,
    object('Peers, and ports at them. Absent ports or peers: all of them.', {
      to: optional(peers('The peers.')),
      ports: optional(
        list(
          'The ports.',
          object('One port, or a range of ports.', {
            port: optional(
              integerOrText('The number or name of the port; absent: every port.', {
                max: PORT_NAME_LENGTH_MAX,
              }),
            ),
            endPort: optional(
              integer('The last port of a range that begins with port.', { min: 1, max: PORT_MAX }),
            ),
            protocol: optional(choice(['TCP', 'UDP', 'SCTP'], 'The protocol; absent: TCP.')),
          }),
          { max: PORTS_MAX },
        ),
      ),
    }),
    { max: PEERS_MAX },
  )
}
