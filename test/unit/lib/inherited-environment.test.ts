import { expect } from 'chai'
import { inheritedEnvironment } from '../../../lib/bounded-node.ts'

describe('the environment of processes for what strangers send', () => {
  it('says how to run, and holds no secret', () => {
    const run = { PATH: '/bin', LC_ALL: 'C', NODE_OPTIONS: '--x', NODE_EXTRA_CA_CERTS: '/ca' }
    const secrets = {
      NODE_AUTH_TOKEN: 't',
      NODE_PRE_GYP_TOKEN: 't',
      NODE_TLS_KEY: 't',
      OPENAI_API_KEY: 't',
      QUARRY_CLUSTER_SECRET_FILE: '/s',
      AWS_SECRET_ACCESS_KEY: 't',
      LD_PRELOAD: '/x.so',
    }

    expect(inheritedEnvironment({ ...run, ...secrets })).to.deep.equal(run)
  })
})
