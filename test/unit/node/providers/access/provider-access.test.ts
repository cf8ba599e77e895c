import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { Env } from '../../../../../lib/env.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import { ProviderAccess } from '../../../../../node/providers/access/provider-access.ts'
import type {
  EndpointQuestion,
  OwnInferenceUrl,
  ResolvedEndpoint,
} from '../../../../../node/providers/access/provider-access.ts'
import { NodeSecrets } from '../../../../../node/providers/access/secret-source.ts'
import { URL_RULES_DEFAULT } from '../../../../../node/providers/access/url-rules.ts'
import type { UrlRules } from '../../../../../node/providers/access/url-rules.ts'
import type { EndpointConfig } from '../../../../../node/providers/config/provider-config.ts'
import type { ProviderName } from '../../../../../node/providers/config/provider-table.ts'
import { isProviderError } from '../../../../../node/providers/contract/provider-error.ts'
import type { ProviderError } from '../../../../../node/providers/contract/provider-error.ts'
import { errorOf } from '../../../../support/error-of.ts'

const NO_PLACE: EndpointConfig = { url: undefined, apiKey: undefined }

function access(env: Env = {}, rules: Partial<UrlRules> = {}, secretsDir?: string): ProviderAccess {
  const secrets = new NodeSecrets(secretsDir, env)
  return new ProviderAccess({ env, secrets, rules: { ...URL_RULES_DEFAULT, ...rules } })
}

/** A node with an inference server of its own. */
function owning(ownInference: OwnInferenceUrl, env: Env = {}): ProviderAccess {
  const secrets = new NodeSecrets(undefined, env)
  return new ProviderAccess({ env, secrets, rules: URL_RULES_DEFAULT, ownInference })
}

function failsToStart(): Promise<string> {
  return Promise.reject(new ServiceError('UNAVAILABLE', 'it ended with code 78'))
}

function ask(
  to: ProviderAccess,
  provider: ProviderName,
  config: Partial<EndpointConfig> = {},
): Promise<ResolvedEndpoint> {
  const question: EndpointQuestion = {
    name: `${provider} m`,
    provider,
    config: { ...NO_PLACE, ...config },
  }
  return to.endpoint(question)
}

async function failureOf(work: Promise<unknown>): Promise<ProviderError> {
  const error = await errorOf(() => work)
  if (isProviderError(error)) return error
  throw error
}

describe('the way to a provider', () => {
  it('is its own URL and the key of its variable, when nothing is configured', async () => {
    const { url, apiKey, addresses } = await ask(access({ OPENAI_API_KEY: 'sk-1' }), 'openai')

    expect([url, apiKey, addresses]).to.deep.equal(['https://api.openai.com/v1', 'sk-1', 'public'])
  })

  it("is the node's own inference server, when neither configuration nor variable names one", async () => {
    let asked = 0
    const own: OwnInferenceUrl = async () => `http://127.0.0.1:${49_151 + ++asked}`
    const env = { QUARRY_INFERENCE_URL: 'http://models:11433' }

    const first = await ask(owning(own), 'quarry')
    const again = await ask(owning(own), 'quarry')
    const named = await ask(owning(own), 'quarry', { url: 'http://models:1' })
    const elsewhere = await ask(owning(own, env), 'quarry')
    const other = await ask(owning(own), 'ollama')

    expect([first.url, again.url]).to.deep.equal([
      'http://127.0.0.1:49152',
      'http://127.0.0.1:49153',
    ])
    expect([named.url, elsewhere.url, other.url]).to.deep.equal([
      'http://models:1',
      'http://models:11433',
      'http://127.0.0.1:11434',
    ])
    expect(asked).to.equal(2)
  })

  it("says so when the node's own inference server does not start", async () => {
    const failure = await failureOf(ask(owning(failsToStart), 'quarry'))

    expect(failure.message).to.equal('quarry m: it ended with code 78')
    expect(failure.failure).to.deep.equal({ kind: 'unavailable' })
  })

  it('is what the variable for its URL says, which the operator sets', async () => {
    const env = {
      OPENAI_BASE_URL: 'http://10.0.0.7/v1/',
      OPENAI_API_KEY: 'sk-1',
      OLLAMA_HOST: '10.0.0.8:11434',
      QUARRY_INFERENCE_URL: 'http://models:11433',
    }

    const openai = await ask(access(env), 'openai')
    const ollama = await ask(access(env), 'ollama')
    const quarry = await ask(access(env), 'quarry')

    expect([openai.url, openai.apiKey, openai.addresses]).to.deep.equal([
      'http://10.0.0.7/v1',
      'sk-1',
      'any',
    ])
    expect([ollama.url, quarry.url]).to.deep.equal(['http://10.0.0.8:11434', 'http://models:11433'])
  })

  it('lets local providers have private addresses, unless the operator forbids it', async () => {
    const url = 'http://10.0.0.9:11433'

    expect((await ask(access(), 'quarry', { url })).addresses).to.equal('not-link-local')
    const strict = access({}, { allowsPrivateLocal: false })
    expect((await ask(strict, 'quarry', { url })).addresses).to.equal('public')
    // The default URL is the operator's own machine.
    expect((await ask(strict, 'quarry')).addresses).to.equal('not-link-local')
    const trusting = access({}, { allowsPrivateLocal: false, trustedHosts: ['10.0.0.9:11433'] })
    expect((await ask(trusting, 'quarry', { url })).addresses).to.equal('any')
  })

  it('sends keys of the node to nobody but the provider and hosts that the operator named', async () => {
    const env = { OPENAI_API_KEY: 'sk-env-1', OTHER: 'sk-other-2' }
    const url = 'https://collector.example/v1'

    for (const apiKey of [undefined, '${OTHER}', '${secret:openai.api_key}']) {
      const failure = await failureOf(ask(access(env), 'openai', { url, apiKey }))
      expect(failure.failure).to.deep.equal({ kind: 'refused' })
      expect(failure.message).to.match(/openai m: api_key: .*name collector\.example in the node's/)
      expect(failure.message).to.not.match(/sk-(env|other)/)
    }
    const own = await ask(access(env), 'openai', { url, apiKey: 'written-plainly' })
    expect([own.apiKey, own.addresses]).to.deep.equal(['written-plainly', 'public'])
    const named = access(env, { trustedHosts: ['collector.example'] })
    expect((await ask(named, 'openai', { url, apiKey: '${OTHER}' })).apiKey).to.equal('sk-other-2')
  })

  it('reaches hosted providers by https alone, unless the operator named the host', async () => {
    const url = 'http://models.example'

    const failure = await failureOf(ask(access(), 'openai', { url, apiKey: 'k' }))
    expect(failure.message).to.include('models.example must be reached by https:')
    const named = access({}, { trustedHosts: ['models.example'] })
    expect((await ask(named, 'openai', { url, apiKey: 'k' })).url).to.equal(url)
  })

  it('names a reference that has no value, and says what to do', async () => {
    const variable = await failureOf(ask(access(), 'openai', { apiKey: '${MISSING_KEY}' }))
    const secret = await failureOf(ask(access(), 'cohere', { apiKey: '${secret:cohere.key}' }))

    expect(variable.message).to.equal(
      "openai m: api_key: ${MISSING_KEY} has no value; set it in the node's environment",
    )
    expect(secret.message).to.equal(
      'cohere m: api_key: ${secret:cohere.key} has no value; add the secret to the node',
    )
    expect(variable.failure.kind).to.equal('unavailable')
  })

  it('shows nothing of what references stand for', async () => {
    const env = {
      OPENAI_API_KEY: 'sk-"quoted"&odd',
      BAD_URL: 'ftp://hidden.example',
      NEWLINE: 'a\nb-c-d',
    }
    const { redact } = await ask(access(env), 'openai')
    const texts = ['sk-"quoted"&odd', 'sk-%22quoted%22%26odd', '{"k":"sk-\\"quoted\\"&odd"}']

    for (const text of texts) expect(redact(`said ${text}`)).to.not.include('quoted')
    const inner = access({ INNER: 'http://inner.example/base' })
    const place = await ask(inner, 'quarry', { url: '${INNER}' })
    expect(place.redact('at http://inner.example/base, or inner.example')).to.equal(
      'at [secret], or [secret]',
    )
    const url = await failureOf(ask(access(env), 'quarry', { url: '${BAD_URL}' }))
    const key = await failureOf(ask(access(env), 'openai', { apiKey: '${NEWLINE}' }))
    expect(url.message)
      .to.match(/quarry m: url must be a URL/)
      .and.not.include('hidden')
    expect(key.message).to.include('visible characters').and.not.include('b-c-d')
  })
})

describe('the secrets of a node', () => {
  let directory: string

  beforeEach(async () => {
    directory = await mkdtemp(path.join(tmpdir(), 'quarry-secrets-'))
  })

  afterEach(() => rm(directory, { recursive: true }))

  it('are files, without the line end, before the environment', async () => {
    // As Kubernetes mounts them: links to files of a version's directory.
    await mkdir(path.join(directory, '..data'))
    await writeFile(path.join(directory, '..data', 'openai.api_key'), 'from-file\n')
    await symlink('..data/openai.api_key', path.join(directory, 'openai.api_key'))
    const env = { OPENAI_API_KEY: 'from-environment', COHERE_API_KEY: 'second' }
    const secrets = new NodeSecrets(directory, env)

    expect(await secrets.find('openai.api_key')).to.equal('from-file')
    expect(await secrets.find('cohere.api-key')).to.equal('second')
    expect(await secrets.find('none')).to.equal(undefined)
    expect(await new NodeSecrets(undefined, env).find('openai.api_key')).to.equal(
      'from-environment',
    )
  })

  it('are read at each use, so that a rotated one is seen', async () => {
    const file = path.join(directory, 'key')
    await writeFile(file, 'one')
    const to = access({}, {}, directory)
    const config = { apiKey: '${secret:key}' }
    expect((await ask(to, 'openai', config)).apiKey).to.equal('one')

    await writeFile(file, 'two-two')

    expect((await ask(to, 'openai', config)).apiKey).to.equal('two-two')
  })

  it('are refused when they are too large or no file, without their content', async () => {
    await writeFile(path.join(directory, 'large'), 'x'.repeat(70_000))
    await mkdir(path.join(directory, 'folder'))

    for (const name of ['large', 'folder']) {
      const failure = await failureOf(
        ask(access({}, {}, directory), 'openai', { apiKey: `\${secret:${name}}` }),
      )
      expect(failure.message).to.include(`secret ${name}`).and.not.include('xxx')
      expect(failure.code).to.equal('UNAVAILABLE')
    }
  })
})
