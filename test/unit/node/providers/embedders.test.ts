import { BedrockRuntimeClient } from '@aws-sdk/client-bedrock-runtime'
import { expect } from 'chai'
import { parseEmbedderConfig } from '../../../../node/providers/config/parse-embedder-config.ts'
import type { Embedder } from '../../../../node/providers/contract/provider.ts'
import { describeEmbedder } from '../../../conformance/embedder.ts'
import type { EmbedderSubject } from '../../../conformance/embedder.ts'
import { TOKEN, openProviders } from '../../../support/servers/providers/opened-providers.ts'
import {
  bedrockCohereDouble,
  cohereDouble,
  geminiDouble,
  ollamaDouble,
  openaiDecimalDouble,
  openaiDouble,
  quarryDouble,
  titanDouble,
  vertexDouble,
} from '../../../support/servers/providers/wire-doubles.ts'

const KEY = 'sk-very-secret-key'
const AWS_SECRET = 'wJalrXUtnFEMI/K7MDENG'

/** An embedder of its own, as a configuration names it. */
function opener(config: Readonly<Record<string, unknown>>): EmbedderSubject['open'] {
  return (url, timeoutMs): Embedder => {
    const providers = openProviders({ env: { PROVIDER_KEY: KEY }, timeoutMs })
    return providers.embedders.borrow(parseEmbedderConfig({ ...config, url }, 'embedder'))
  }
}

const api_key = '${PROVIDER_KEY}'

describeEmbedder('quarry', {
  double: quarryDouble,
  open: opener({ provider: 'quarry' }),
  itemsMax: 256,
  secret: undefined,
})

describeEmbedder('ollama', {
  double: ollamaDouble,
  open: opener({ provider: 'ollama', model: 'nomic-embed-text' }),
  itemsMax: 64,
  secret: undefined,
})

describeEmbedder('openai', {
  double: openaiDouble,
  open: opener({ provider: 'openai', api_key }),
  itemsMax: 1024,
  secret: KEY,
})

describeEmbedder('a server like openai, with decimals and without indexes', {
  double: openaiDecimalDouble,
  open: opener({ provider: 'openrouter', api_key }),
  itemsMax: 1024,
  secret: KEY,
})

describeEmbedder('gemini', {
  double: geminiDouble,
  open: opener({ provider: 'gemini', api_key }),
  itemsMax: 100,
  secret: KEY,
})

describeEmbedder('vertex', {
  double: vertexDouble,
  open: opener({ provider: 'vertex', model: 'text-embedding-005', project_id: 'tides' }),
  itemsMax: 64,
  secret: TOKEN,
})

describeEmbedder('cohere', {
  double: cohereDouble,
  open: opener({ provider: 'cohere', api_key }),
  itemsMax: 96,
  secret: KEY,
})

describe('the cloud model service', () => {
  const saved: NodeJS.ProcessEnv = {}
  const credentials = { AWS_ACCESS_KEY_ID: 'AKIDEXAMPLE', AWS_SECRET_ACCESS_KEY: AWS_SECRET }

  // The official client is loaded with this file: it makes a global variable, which would count as a leak of
  // the test that loads it first.
  before(() => expect(BedrockRuntimeClient).to.be.a('function'))

  // It looks for credentials in the process.
  beforeEach(() => {
    for (const [name, value] of Object.entries(credentials)) {
      saved[name] = process.env[name]
      process.env[name] = value
    }
  })

  afterEach(() => {
    for (const name of Object.keys(credentials)) {
      if (saved[name] === undefined) delete process.env[name]
      else process.env[name] = saved[name]
    }
  })

  describeEmbedder('bedrock, Titan', {
    double: titanDouble,
    open: opener({
      provider: 'bedrock',
      model: 'amazon.titan-embed-text-v2:0',
      region: 'eu-west-1',
    }),
    itemsMax: 1,
    secret: AWS_SECRET,
  })

  describeEmbedder('bedrock, Cohere', {
    double: bedrockCohereDouble,
    open: opener({ provider: 'bedrock', model: 'cohere.embed-english-v3', region: 'eu-west-1' }),
    itemsMax: 96,
    secret: AWS_SECRET,
  })
})
