import { mkdir, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { expect } from 'chai'
import type { Env } from '../../../../../lib/env.ts'
import { must } from '../../../../../lib/assert.ts'
import { ServiceError } from '../../../../../lib/errors.ts'
import { ProviderAccess } from '../../../../../node/providers/access/provider-access.ts'
import type {
  EndpointQuestion,
  OwnInferenceUrl,
  ResolvedEndpoint,
} from '../../../../../node/providers/access/provider-access.ts'
import { NodeSecrets } from '../../../../../node/providers/access/secret-source.ts'
import { URL_RULES_DEFAULT } from '../../../../../node/providers/access/url-rules.ts'
import { parseGrant } from '../../../../../node/providers/access/variable-grants.ts'
import type { UrlRules } from '../../../../../node/providers/access/url-rules.ts'
import type { EndpointConfig } from '../../../../../node/providers/config/provider-config.ts'
import type { ProviderName } from '../../../../../node/providers/config/provider-table.ts'
import { isProviderError } from '../../../../../node/providers/contract/provider-error.ts'
import type { ProviderError } from '../../../../../node/providers/contract/provider-error.ts'
import { errorOf } from '../../../../support/error-of.ts'

const NO_PLACE: EndpointConfig = { url: undefined, apiKey: undefined }

/** A node that grants all variables of its environment. */
function access(env: Env = {}, rules: Partial<UrlRules> = {}, secretsDir?: string): ProviderAccess {
  return granting(Object.keys(env), { env, rules, secretsDir })
}

interface Surroundings {
  readonly env: Env
  readonly rules?: Partial<UrlRules>
  readonly secretsDir?: string | undefined
}

function granting(
  grants: readonly string[],
  { env, rules, secretsDir }: Surroundings,
): ProviderAccess {
  return new ProviderAccess({
    env,
    secrets: new NodeSecrets(secretsDir),
    rules: { ...URL_RULES_DEFAULT, ...rules },
    variables: grants.map((text) =>
      must(
        parseGrant(text, () => true),
        'a grant',
      ),
    ),
  })
}

/** A node with an inference server of its own. */
function owning(ownInference: OwnInferenceUrl, env: Env = {}): ProviderAccess {
  const secrets = new NodeSecrets(undefined)
  return new ProviderAccess({ env, secrets, rules: URL_RULES_DEFAULT, ownInference })
}

function failsToStart(): Promise<string> {
  return Promise.reject(new ServiceError('UNAVAILABLE', 'it ended with code 78'))
}

function ask(
  to: ProviderAccess,
  provider: ProviderName,
  config: Partial<EndpointConfig> = {},
  more: Pick<EndpointQuestion, 'asker'> = {},
): Promise<ResolvedEndpoint> {
  const question: EndpointQuestion = {
    ...more,
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

  it('leads to private addresses by the node itself and by hosts that the operator named', async () => {
    const url = 'http://10.0.0.9:11433'
    const env = { QUARRY_INFERENCE_URL: url }

    expect((await ask(access(), 'quarry', { url })).addresses).to.equal('public')
    expect((await ask(access(), 'quarry')).addresses).to.equal('any')
    const shipped = 'http://127.0.0.1:11433'
    expect((await ask(access(), 'quarry', { url: shipped })).addresses).to.equal('any')
    const below = `${shipped}/other`
    expect((await ask(access(), 'quarry', { url: below })).addresses).to.equal('public')
    expect((await ask(access(env), 'quarry', { url })).addresses).to.equal('any')
    const trusting = access({}, { trustedHosts: ['10.0.0.9:11433'] })
    expect((await ask(trusting, 'quarry', { url })).addresses).to.equal('any')
  })

  it('is chosen by no query', async () => {
    const query = { asker: 'query' } as const
    const url = 'https://public.example'

    for (const provider of ['quarry', 'cohere'] as const) {
      const failure = await failureOf(ask(access(), provider, { url, apiKey: 'k' }, query))
      expect(failure.failure).to.deep.equal({ kind: 'refused' })
      expect(failure.message).to.include('public.example is none')
    }
    const own = await ask(access(), 'cohere', { url: 'https://api.cohere.com', apiKey: 'k' }, query)
    expect(own.addresses).to.equal('public')
    expect((await ask(access(), 'quarry', {}, query)).addresses).to.equal('any')
    const named = access({}, { trustedHosts: ['public.example'] })
    expect((await ask(named, 'quarry', { url }, query)).url).to.equal(url)
  })

  it('lets errors quote the provider itself and hosts that the operator named', async () => {
    const url = 'https://public.example'
    const named = access({}, { trustedHosts: ['public.example'] })

    const strange = await ask(access(), 'openai', { apiKey: 'k', url })
    const own = await ask(access(), 'openai', { apiKey: 'k' })
    const trusted = await ask(named, 'openai', { apiKey: 'k', url })

    expect([strange, own, trusted].map(({ mayBeQuoted }) => mayBeQuoted)).to.deep.equal([
      false,
      true,
      true,
    ])
  })

  it('sends keys of the node to nobody but the provider and hosts that the operator named', async () => {
    const env = { OPENAI_API_KEY: 'sk-env-1', OTHER: 'sk-other-2' }
    const url = 'https://collector.example/v1'

    // Without a key the node has nothing to hide, and does not tell whether it has one.
    expect((await ask(access(env), 'openai', { url })).apiKey).to.equal(undefined)
    for (const apiKey of ['${OTHER}', '${MISSING}', '${secret:openai.api_key}']) {
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

  it('gives configurations the variables that the operator grants, and its own to a provider', async () => {
    const env = {
      GRANTED: 'sk-granted',
      BOUND: 'sk-bound',
      OTHER: 'sk-other',
      OPENAI_API_KEY: 'sk-own',
    }
    const rules = { trustedHosts: ['one.example', 'two.example'] }
    const to = granting(['GRANTED', 'BOUND@one.example'], { env, rules })
    const keyAt = async (host: string, apiKey: string): Promise<string | undefined> =>
      (await ask(to, 'openai', { url: `https://${host}`, apiKey })).apiKey

    expect(await keyAt('one.example', '${GRANTED}')).to.equal('sk-granted')
    expect(await keyAt('one.example', '${BOUND}')).to.equal('sk-bound')
    expect(await keyAt('one.example', '${OPENAI_API_KEY}')).to.equal('sk-own')
    const refusals: string[] = []
    for (const name of ['OTHER', 'UNSET', 'BOUND', 'COHERE_API_KEY']) {
      for (const reference of [`\${${name}}`, `\${secret:${name.toLowerCase()}}`]) {
        const failure = await failureOf(keyAt('two.example', reference))
        expect(failure.failure.kind).to.equal('unavailable')
        refusals.push(failure.message.replace(reference, 'REFERENCE'))
      }
    }
    // One for variables, one for secrets: set or not, granted or not.
    expect(new Set(refusals).size).to.equal(2)
  })

  it('names a reference that has no value, and says what to do', async () => {
    const variable = await failureOf(ask(access(), 'openai', { apiKey: '${MISSING_KEY}' }))
    const secret = await failureOf(ask(access(), 'cohere', { apiKey: '${secret:cohere.key}' }))

    expect(variable.message).to.equal(
      "openai m: api_key: ${MISSING_KEY} has no value; set it in the node's environment, and name it in the node's provider variables",
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

  it('are files, without the line end', async () => {
    // As Kubernetes mounts them: links to files of a version's directory.
    await mkdir(path.join(directory, '..data'))
    await writeFile(path.join(directory, '..data', 'openai.api_key'), 'from-file\n')
    await symlink('..data/openai.api_key', path.join(directory, 'openai.api_key'))
    const secrets = new NodeSecrets(directory)

    expect(await secrets.find('openai.api_key')).to.equal('from-file')
    expect(await secrets.find('none')).to.equal(undefined)
    expect(await new NodeSecrets(undefined).find('openai.api_key')).to.equal(undefined)
  })

  it('are variables where there is no file, if the operator grants them', async () => {
    const env = { COHERE_KEY: 'sk-of-variable' }

    const { apiKey } = await ask(access(env), 'cohere', { apiKey: '${secret:cohere.key}' })

    expect(apiKey).to.equal('sk-of-variable')
  })

  it('go to the hosts that the operator binds them to, and to no other', async () => {
    await writeFile(path.join(directory, 'key'), 'sk-bound')
    const rules = { trustedHosts: ['one.example', 'two.example'] }
    const to = granting(['secret:key@one.example'], { env: {}, rules, secretsDir: directory })
    const keyAt = (host: string, apiKey: string): Promise<ResolvedEndpoint> =>
      ask(to, 'openai', { url: `https://${host}`, apiKey })

    const bound = await keyAt('one.example', '${secret:key}')
    const other = await failureOf(keyAt('two.example', '${secret:key}'))
    const absent = await failureOf(keyAt('two.example', '${secret:none}'))

    expect(bound.apiKey).to.equal('sk-bound')
    expect(other.message).to.equal(absent.message.replace('none', 'key'))
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
