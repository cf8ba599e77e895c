import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import { ConfigurationError, readOptions } from '../../../../lib/options.ts'
import {
  PROVIDER_OPTIONS,
  providerSurroundings,
} from '../../../../node/providers/provider-options.ts'

describe('the options of providers', () => {
  it('trust no host and grant no variable by default', async () => {
    const config = readOptions(PROVIDER_OPTIONS, { env: {} })
    const { rules, secrets, variables } = providerSurroundings(config, { OPENAI_API_KEY: 'sk' })

    expect(rules).to.deep.equal({ trustedHosts: [] })
    expect(variables).to.deep.equal([])
    expect(await secrets.find('openai.api_key')).to.equal(undefined)
  })

  it('read secrets from the directory that is named', async () => {
    const secretsDir = await mkdtemp(path.join(tmpdir(), 'quarry-secrets-'))
    await writeFile(path.join(secretsDir, 'key'), 'from a file\n')
    const env = { QUARRY_SECRETS_DIR: secretsDir }

    const { secrets } = providerSurroundings(readOptions(PROVIDER_OPTIONS, { env }), env)

    expect(await secrets.find('key')).to.equal('from a file')
    await rm(secretsDir, { recursive: true })
  })

  it('take names of variables, bound to a host or not, and refuse other texts', () => {
    const env = { QUARRY_PROVIDER_VARIABLES: 'MODELS_KEY, OTHER@models.example:8443' }
    const { providerVariables } = readOptions(PROVIDER_OPTIONS, { env })

    expect(providerVariables).to.deep.equal([
      { name: 'MODELS_KEY', host: undefined },
      { name: 'OTHER', host: 'models.example:8443' },
    ])
    for (const wrong of ['*', 'A B', '9X', 'A@', 'A@https://x', 'A@b@c']) {
      const given = { QUARRY_PROVIDER_VARIABLES: wrong }
      expect(() => readOptions(PROVIDER_OPTIONS, { env: given })).to.throw(
        ConfigurationError,
        'is not a list of variables',
      )
    }
  })

  it('take hosts with ports and addresses, and refuse URLs', () => {
    const hosts = 'models.example, 10.0.0.7:8443,[fd00::1]:80'
    const { providerHosts } = readOptions(PROVIDER_OPTIONS, {
      env: { QUARRY_PROVIDER_HOSTS: hosts },
    })

    expect(providerHosts).to.deep.equal(['models.example', '10.0.0.7:8443', '[fd00::1]:80'])
    for (const wrong of ['https://models.example', 'models.example/v1', '*.example', 'a b']) {
      expect(() =>
        readOptions(PROVIDER_OPTIONS, { env: { QUARRY_PROVIDER_HOSTS: wrong } }),
      ).to.throw(ConfigurationError, 'is not a list of hosts')
    }
  })
})
