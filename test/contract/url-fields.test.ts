// Every URL that a client may write leads by one rule of addresses. The fields are those of the contracts, so that a
// new one fails here until it says whose rule it obeys.

import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import type { ContractName } from '../../door/contract.ts'
import { MEDIA_LIMITS_DEFAULT } from '../../inference/media/media-limits.ts'
import { systemClock } from '../../lib/clock.ts'
import { isServiceError } from '../../lib/errors.ts'
import { MediaDownloader } from '../../lib/media/media-downloader.ts'
import { isPublicAddress } from '../../lib/media/public-address.ts'
import { NodeSecrets } from '../../node/providers/access/secret-source.ts'
import { URL_RULES_DEFAULT } from '../../node/providers/access/url-rules.ts'
import { parseEmbedderConfig } from '../../node/providers/config/parse-embedder-config.ts'
import {
  parseChunkerConfig,
  parseGeneratorConfig,
  parseRerankerConfig,
} from '../../node/providers/config/parse-task-configs.ts'
import { providersOf } from '../../node/providers/config/provider-table.ts'
import type { ProviderTask } from '../../node/providers/config/provider-table.ts'
import { Providers } from '../../node/providers/providers.ts'
import { openEmbedder } from '../../node/providers/open-embedder.ts'
import { openChunker } from '../../node/providers/wire/chunkers.ts'
import { openGenerator } from '../../node/providers/wire/generators.ts'
import { openReranker } from '../../node/providers/wire/rerankers.ts'
import type { WireParts } from '../../node/providers/wire/wire-parts.ts'
import { errorOf } from '../support/error-of.ts'
import { close, listen, portOf } from '../support/servers/local-server.ts'

const signal = new AbortController().signal

type Ask = (url: string) => Promise<unknown>

/** Every field of the contracts that holds a URL, by its name below the nearest schema or object with a name. */
const FIELDS: Readonly<Record<string, ProviderTask | 'media'>> = {
  'store.v1 embedder.url': 'embedder',
  'store.v1 embedder.api_url': 'embedder',
  'store.v1 summarizer.url': 'generator',
  'store.v1 chunker.url': 'chunker',
  'store.v1 chunker.api_url': 'chunker',
  'store.v1 reranker.url': 'reranker',
  'inference.v1 image_url.url': 'media',
}

const CONTRACTS: readonly ContractName[] = ['store.v1', 'inference.v1']
/** Other words for a place on the network, so that nothing hides behind another name. */
const URL_NAME = /(?:^|_)(?:ur[il]|endpoint|host|webhook|callback|address)s?$/

/** Hosts that nobody but the operator may choose, in the forms that resolvers and parsers know. */
const HOSTS = [
  [
    'this machine',
    '127.0.0.1',
    '127.1',
    '2130706433',
    '0x7f.1',
    '0.0.0.0',
    'localhost',
    '[::1]',
    '[::]',
  ],
  ['private', '10.1.2.3', '172.16.0.1', '192.168.1.1', '100.64.0.1', '[fd00::1]', '[fc00::1]'],
  [
    'of a cloud',
    '169.254.169.254',
    '100.100.100.200',
    '168.63.129.16',
    '[fd00:ec2::254]',
    '[fe80::1]',
  ],
  ['mapped', '[::ffff:127.0.0.1]', '[::127.0.0.1]', '[::ffff:169.254.169.254]'],
  ['NAT64', '[64:ff9b::a9fe:a9fe]', '[64:ff9b::7f00:1]', '[64:ff9b:1::a9fe:a9fe]'],
  ['SIIT', '[::ffff:0:169.254.169.254]', '[::ffff:0:7f00:1]'],
  ['6to4 and Teredo', '[2002:a9fe:a9fe::]', '[2002:7f00:1::1]', '[2001::1]'],
] as const

/** What makes the text of a URL mean something else than it says. */
const textsOf = (base: string): readonly string[] => [
  `${base}/x#`,
  `${base}/x?`,
  `${base}/x?a=b`,
  `${base}/x#y`,
  base.replace('//', '//@'),
  base.replace('//', '//u:p@'),
  ` ${base}`,
  `${base}\\@other`,
  base.replace('//', '/\t/'),
]

describe('the URLs of the contracts', () => {
  it('are all known here, with the rule that they obey', () => {
    const found = CONTRACTS.flatMap((name) => urlFields(loadContract(name).document, name))

    expect([...new Set(found)]).to.have.members(Object.keys(FIELDS))
  })

  for (const task of ['embedder', 'generator', 'chunker', 'reranker'] as const) {
    for (const provider of providersOf(task)) {
      it(`lead the ${task} of ${provider} to no address that only this node reaches`, async () => {
        await using world = await World.open()
        const members = Object.entries(FIELDS).filter(([, rule]) => rule === task)
        expect(members).to.not.deep.equal([])

        for (const host of HOSTS.flatMap(([, ...hosts]) => hosts)) {
          for (const scheme of ['http', 'https']) {
            const url = `${scheme}://${host}:${world.port}`
            const error = await errorOf(() => askOf(task, provider, world.wire)(url))
            expect(isServiceError(error) && error.code, `${url}: ${String(error)}`).to.equal(
              'INVALID_ARGUMENT',
            )
          }
        }
        expect(world.requests).to.equal(0)
      })

      it(`are read as they are written by the ${task} of ${provider}`, async () => {
        await using world = await World.open(['127.0.0.1'])

        for (const url of textsOf(`http://127.0.0.1:${world.port}`)) {
          const error = await errorOf(() => askOf(task, provider, world.wire)(url))
          expect(isServiceError(error) && error.code, url).to.equal('INVALID_ARGUMENT')
        }
        expect(world.requests).to.equal(0)
      })
    }
  }

  it('lead downloads of media to no address that only this node reaches', async () => {
    await using world = await World.open()
    const downloader = new MediaDownloader({ limits: MEDIA_LIMITS_DEFAULT, clock: systemClock })
    const memory = { add: () => undefined, release: () => undefined }

    for (const host of HOSTS.flatMap(([, ...hosts]) => hosts)) {
      const url = `http://${host}:${world.port}/`
      const error = await errorOf(() => downloader.download(url, { signal, memory, accept: '*/*' }))
      expect(isServiceError(error) && error.code, url).to.equal('INVALID_ARGUMENT')
    }
    expect(world.requests).to.equal(0)
  })
})

/** A node with a server beside it, which nobody shall reach. */
class World implements AsyncDisposable {
  readonly port: number
  readonly #providers: Providers
  readonly #closeServer: () => Promise<void>
  requests = 0

  private constructor(trustedHosts: readonly string[], server: Awaited<ReturnType<typeof listen>>) {
    this.port = portOf(server)
    this.#closeServer = () => close(server)
    server.on('connection', () => (this.requests += 1))
    this.#providers = new Providers({
      clock: systemClock,
      env: {},
      secrets: new NodeSecrets(undefined),
      rules: { ...URL_RULES_DEFAULT, trustedHosts },
      isPublic: isPublicAddress,
      identity: { token: async () => 'token', projectId: async () => 'project' },
    })
  }

  static async open(trustedHosts: readonly string[] = []): Promise<World> {
    const server = await listen('127.0.0.1', (_request, response) => response.end('{}'))
    return new World(trustedHosts, server)
  }

  get wire(): WireParts {
    return this.#providers.wire
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#providers[Symbol.asyncDispose]()
    await this.#closeServer()
  }
}

/** Configures one model with a URL and asks it once. */
function askOf(task: ProviderTask, provider: string, wire: WireParts): Ask {
  const key = ['openai', 'openrouter', 'gemini', 'cohere', 'anthropic'].includes(provider)
  const place = provider === 'bedrock' ? { region: 'eu-west-1' } : {}
  const model = { vertex: 'gemini-embedding-001', bedrock: 'titan-embed-text' }[provider] ?? 'm'
  const configOf = (url: string): object => ({
    provider,
    url,
    model,
    ...(key ? { api_key: 'k' } : {}),
    ...place,
  })
  const asks: Readonly<Record<ProviderTask, Ask>> = {
    embedder: async (url) => {
      const embedder = openEmbedder(parseEmbedderConfig(configOf(url), 'c'), wire, systemClock)
      return embedder.embed([[{ kind: 'text', text: 'a' }]], { use: 'document', signal })
    },
    generator: async (url) => {
      const generator = openGenerator(parseGeneratorConfig(configOf(url), 'c'), wire, systemClock)
      return generator.generate([{ kind: 'text', text: 'a' }], { signal })
    },
    chunker: async (url) => {
      const chunker = openChunker(parseChunkerConfig(configOf(url), 'c'), wire, systemClock)
      return chunker.chunk('a', { signal })
    },
    reranker: async (url) => {
      const reranker = openReranker(parseRerankerConfig(configOf(url), 'c'), wire, systemClock)
      return reranker.rerank('a', ['b'], { signal })
    },
  }
  return asks[task]
}

/** The paths of all members whose name says that they hold a URL. `owner` is the object that they are members of. */
function urlFields(node: unknown, contract: string, owner = ''): readonly string[] {
  if (Array.isArray(node)) return node.flatMap((each) => urlFields(each, contract, owner))
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => {
    if (name !== 'properties' || typeof value !== 'object' || value === null) {
      const isName = !['items', 'schema', 'content', 'allOf', 'oneOf', 'anyOf'].includes(name)
      return urlFields(value, contract, isName ? name : owner)
    }
    return Object.entries(value).flatMap(([member, schema]) => {
      const here = URL_NAME.test(member) && isText(schema) ? [`${contract} ${owner}.${member}`] : []
      return [...here, ...urlFields(schema, contract, member)]
    })
  })
}

function isText(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return false
  return '$ref' in schema || !('type' in schema) || schema.type === 'string'
}
