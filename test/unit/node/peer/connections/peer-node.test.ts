import { describePeerNode } from '../../../../conformance/peer-node.ts'
import { openMemoryWorld, openTcpWorld } from '../../../../support/peer/peer-world.ts'
import {
  TEST_CERTIFICATE,
  TEST_CERTIFICATE_KEY,
} from '../../../../support/servers/tls-certificate.ts'

describePeerNode('MemoryNetwork', () => openMemoryWorld())
describePeerNode('TCP with a secret', () => openTcpWorld())
describePeerNode('TLS with a secret', () =>
  openTcpWorld({
    ca: TEST_CERTIFICATE,
    certificate: TEST_CERTIFICATE,
    key: TEST_CERTIFICATE_KEY,
    names: ['127.0.0.1'],
  }),
)
