// The official libraries that find the node's identity, in surroundings that a test makes.

import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import { expect } from 'chai'
import { systemClock } from '../../../../../lib/clock.ts'
import { parseEmbedderConfig } from '../../../../../node/providers/config/parse-embedder-config.ts'
import type { Providers } from '../../../../../node/providers/providers.ts'
import { GoogleIdentity } from '../../../../../node/providers/wire/google-identity.ts'
import { openProviders } from '../../../../support/servers/providers/opened-providers.ts'
import { failureOf } from '../../../../support/failure-of.ts'
import { ScriptedServer, answering } from '../../../../support/servers/scripted-server.ts'
import type { Scene } from '../../../../support/servers/scripted-server.ts'

const never = new AbortController().signal

/** An answer of the service of metadata that each machine of the platform has. */
function metadata(body: string): Scene {
  return (response) => {
    response.writeHead(200, { 'metadata-flavor': 'Google', 'content-type': 'application/json' })
    response.end(body)
  }
}

describe('the identity of a node in a cloud', () => {
  let saved: NodeJS.ProcessEnv

  before(() => expect(BedrockRuntimeClient).to.be.a('function'))

  beforeEach(() => {
    saved = { ...process.env }
  })

  afterEach(() => {
    for (const name of Object.keys(process.env)) delete process.env[name]
    Object.assign(process.env, saved)
  })

  it('is the token that its machine gives, asked for once', async () => {
    const token = JSON.stringify({
      access_token: 'ya29.x',
      expires_in: 3_600,
      token_type: 'Bearer',
    })
    await using server = await ScriptedServer.start([metadata(token)])
    process.env['GCE_METADATA_HOST'] = new URL(server.url).host
    process.env['METADATA_SERVER_DETECTION'] = 'assume-present'
    delete process.env['GOOGLE_APPLICATION_CREDENTIALS']
    process.env['HOME'] = '/nonexistent'
    const identity = new GoogleIdentity(systemClock)

    const first = await identity.token('vertex m', never)
    const second = await identity.token('vertex m', never)

    expect([first, second]).to.deep.equal(['ya29.x', 'ya29.x'])
    const asked = server.received.filter(({ path }) => path.includes('/token'))
    expect(asked).to.have.length(1)
  })

  it('is missing without any, and the error says what to set', async () => {
    process.env['METADATA_SERVER_DETECTION'] = 'none'
    delete process.env['GOOGLE_APPLICATION_CREDENTIALS']
    process.env['HOME'] = '/nonexistent'
    let error: unknown
    await new GoogleIdentity(systemClock)
      .token('vertex m', never)
      .catch((thrown: unknown) => (error = thrown))

    expect(error).to.have.property('code', 'UNAVAILABLE')
    expect(String(error)).to.match(/vertex m: .*GOOGLE_APPLICATION_CREDENTIALS/)
  })

  it('is shown to no host of a configuration, and what names a place is not shown at all', async () => {
    const env = { HIDDEN: 'sk-hidden-as-a-project' }
    const refusal = { error: { message: `no project sk-hidden-as-a-project at eu-hidden-1` } }
    await using server = await ScriptedServer.start([answering(404, refusal)])
    await using strict = openProviders({ env, rules: { trustedHosts: [] } })
    await using trusting = openProviders({ env: { ...env, PLACE: 'eu-hidden-1' } })
    const bedrock = {
      provider: 'bedrock',
      model: 'cohere.embed-v4',
      region: 'eu-west-1',
      url: 'https://collector.example',
    }
    const vertex = {
      provider: 'vertex',
      project_id: '${HIDDEN}',
      location: '${PLACE}',
      url: server.url,
    }
    const item = [{ kind: 'text' as const, text: 'x' }]
    const embed = (providers: Providers, config: unknown): Promise<unknown> =>
      providers.embedders
        .borrow(parseEmbedderConfig(config, 'e'))
        .embed([item], { signal: never, use: 'query' })

    const signed = await failureOf(embed(strict, bedrock))
    const named = await failureOf(embed(trusting, vertex))

    expect(String(signed)).to.include("the node's identity is shown only to the platform")
    expect(server.received[0]?.path).to.include('sk-hidden-as-a-project')
    expect(String(named)).to.include('no project [secret] at [secret]')
  })

  it('is missing for the cloud model service, and the error says what to set', async () => {
    for (const name of Object.keys(process.env)) {
      if (name.startsWith('AWS_')) delete process.env[name]
    }
    process.env['AWS_EC2_METADATA_DISABLED'] = 'true'
    process.env['HOME'] = '/nonexistent'
    await using providers = openProviders()
    const embedder = providers.embedders.borrow(
      parseEmbedderConfig(
        { provider: 'bedrock', model: 'amazon.titan-embed-text-v2:0', region: 'eu-west-1' },
        'e',
      ),
    )
    let error: unknown
    await embedder
      .embed([[{ kind: 'text', text: 'x' }]], { signal: never, use: 'document' })
      .catch((thrown: unknown) => (error = thrown))

    expect(error).to.have.property('code', 'UNAVAILABLE')
    expect(String(error)).to.match(/bedrock amazon.*AWS_ACCESS_KEY_ID/)
  })
})
