import { expect } from 'chai'
import { systemClock } from '../../../../lib/clock.ts'
import { openEnrichment } from '../../../../node/enrichment/open-enrichment.ts'
import type { Enrichment, Source } from '../../../../node/enrichment/enrichment.ts'
import { readEmbeddingsSettings, isManaged } from '../../../../node/embedding/settings.ts'
import type { ManagedIndexSettings } from '../../../../node/embedding/settings.ts'
import { openMedia } from '../../../../node/media/open-media.ts'
import { MEDIA_SETTINGS_DEFAULT } from '../../../../node/media/media-settings.ts'
import { TemplateCache } from '../../../../node/template/template-cache.ts'
import { assert } from '../../../../lib/assert.ts'
import {
  describeEnrichment,
  REFUSED_MARK,
  type EnrichmentSubject,
  type ModelFault,
} from '../../../conformance/enrichment.ts'
import { errorOf } from '../../../support/error-of.ts'
import { InferenceServer } from '../../../support/servers/inference-server.ts'
import { asDataUri, imageOf } from '../../../support/worlds/media-files.ts'
import { openProviders } from '../../../support/servers/providers/opened-providers.ts'
import {
  DIMENSION,
  doubleVector,
  ProviderServer,
  type Fault,
} from '../../../support/servers/providers/provider-server.ts'
import {
  cohereDouble,
  geminiDouble,
  ollamaDouble,
  openaiDouble,
  quarryDouble,
  type WireDouble,
} from '../../../support/servers/providers/wire-doubles.ts'

const answerZeros: WireDouble['answer'] = (vectors, request) =>
  quarryDouble.answer(
    vectors.map((vector) => vector.map(() => 0)),
    request,
  )

const never = { signal: new AbortController().signal }

const FAULTS: Readonly<Record<Exclude<ModelFault, 'refuses-marked'>, Fault>> = {
  'rate-limited': { kind: 'status', status: 429 },
  unavailable: { kind: 'status', status: 500 },
  silent: { kind: 'silent' },
  'other-dimension': { kind: 'wrong-dimension' },
}

function settingsOf(changes: Readonly<Record<string, unknown>>): ManagedIndexSettings {
  const settings = readEmbeddingsSettings({
    external: false,
    sparse: false,
    dimension: DIMENSION,
    metric: 'l2_squared',
    engine: 'exact',
    quantization: 'f32',
    source: { kind: 'field', path: 'text' },
    embedder: { provider: 'quarry', model: 'm' },
    ...changes,
  })
  assert(isManaged(settings), 'the settings are of a managed index')
  return settings
}

function textPart(text: string): object {
  return { kind: 'text', text }
}

interface World {
  readonly server: ProviderServer
  readonly enrichment: Enrichment
  close(): Promise<void>
}

async function openWorld(
  changes: Readonly<Record<string, unknown>> = {},
  double: WireDouble = quarryDouble,
  model: object = { provider: 'quarry', model: 'm' },
): Promise<World> {
  const server = await ProviderServer.start(double)
  const providers = openProviders()
  const settings = settingsOf({
    embedder: { ...model, url: server.url },
    ...changes,
  })
  const templates = new TemplateCache({ clock: systemClock })
  const index = { id: 'a'.repeat(16), name: 'meaning', settings }
  const privateToo = { ...MEDIA_SETTINGS_DEFAULT, blockPrivateIps: false }
  const media = openMedia({ settings: privateToo, clock: systemClock, environment: {} })
  const parts = { clock: systemClock, providers, templates, media }
  const enrichment = openEnrichment(index, parts)
  const close = async (): Promise<void> => {
    await enrichment.close()
    expect(media.budget.heldBytes).to.equal(0)
    await media[Symbol.asyncDispose]()
    await providers[Symbol.asyncDispose]()
    await server[Symbol.asyncDispose]()
  }
  return { server, enrichment, close }
}

const PROTOCOLS: Readonly<Record<string, WireDouble>> = {
  quarry: quarryDouble,
  ollama: ollamaDouble,
  openai: openaiDouble,
  gemini: geminiDouble,
  cohere: cohereDouble,
}

function isKeyless(provider: string): boolean {
  return provider === 'quarry' || provider === 'ollama'
}

for (const [provider, protocol] of Object.entries(PROTOCOLS)) {
  describeEnrichment(`by ${provider}`, () => openSubject(provider, protocol))
}

async function openSubject(provider: string, protocol: WireDouble): Promise<EnrichmentSubject> {
  let refusesMarked = false
  const double: WireDouble = {
    ...protocol,
    textsOf: (request) => {
      const texts = protocol.textsOf(request)
      if (refusesMarked && texts.some((one) => one.includes(REFUSED_MARK))) {
        throw new Error('a text is refused')
      }
      return texts
    },
  }
  const model = { provider, model: 'm', ...(isKeyless(provider) ? {} : { api_key: 'k' }) }
  const world = await openWorld({}, double, model)
  const { server, enrichment } = world
  return {
    enrichment,
    fail: (fault) => {
      refusesMarked = fault === 'refuses-marked'
      if (fault !== undefined && fault !== 'refuses-marked') server.failNext(FAULTS[fault])
    },
    asked: () => server.received.length,
    vectorOf: doubleVector,
    close: () => world.close(),
  }
}

describe('openEnrichment', () => {
  let world: World | undefined

  afterEach(async () => {
    await world?.close()
    world = undefined
  })

  async function sourceIn(
    changes: Readonly<Record<string, unknown>>,
    document: object,
  ): Promise<Source> {
    await world?.close()
    world = await openWorld(changes)
    const json = Buffer.from(JSON.stringify(document))
    return world.enrichment.sourceOf({ key: Buffer.from('k'), json }, never)
  }

  it('embeds the value at a path with positions', async () => {
    const source = { kind: 'field', path: '$.items[1].name' }
    const document = { items: [{ name: 'one' }, { name: 'two' }] }

    expect((await sourceIn({ source }, document)).parts).to.deep.equal([textPart('two')])
  })

  it('embeds what a template makes of the document, and media by their place', async () => {
    const template =
      '{{title}}: {{#each tags}}{{this}}{{#unless @last}}, {{/unless}}{{/each}}{{media url=photo}}'
    const document = { title: 'Tides', tags: ['a', 'b'], photo: 'https://a.example/b.png' }

    const { parts } = await sourceIn({ source: { kind: 'template', template } }, document)

    expect(parts).to.deep.equal([
      textPart('Tides: a, b'),
      { kind: 'media', url: 'https://a.example/b.png', expects: 'any' },
    ])
  })

  it('embeds a whole document without its time of writing', async () => {
    const document = { title: 'Tides', tags: ['a', 'b'] }
    const settings = { source: { kind: 'document' }, embedder: { provider: 'quarry' } }

    const plain = await sourceIn(settings, document)
    const later = await sourceIn(settings, { ...document, _timestamp: '2026-01-01T00:00:00Z' })

    expect(plain.parts).to.deep.equal([textPart('title: Tides\ntags[#2]: a,b')])
    expect(later.hash).to.deep.equal(plain.hash)
  })

  it('embeds for an index of an earlier version what its vectors are of, under the same hash', async () => {
    const document = { title: 'Tides', tags: ['a', 'b'] }
    const embedder = { provider: 'quarry' }
    const shown = { source: { kind: 'template', template: '{{encodeToon this}}' }, embedder }

    const earlier = await sourceIn({ source: { kind: 'document' }, embedder }, document)
    const anew = await sourceIn(shown, document)

    expect(anew.parts).to.deep.equal(earlier.parts)
    expect(earlier.hash.toString('hex')).to.equal('867cc1230029c569aca19eef9bfb3b42')
  })

  it('has another hash for other settings, but not for another key', async () => {
    const document = { text: 'tide', title: 'tide' }
    const embedder = { provider: 'openai', model: 'm', api_key: 'sk-one' }
    const plain = await sourceIn({ embedder }, document)
    const cases: readonly (readonly [Readonly<Record<string, unknown>>, boolean])[] = [
      [{ embedder: { ...embedder, api_key: 'sk-two' } }, true],
      [{ embedder: { model: 'm', api_key: 'sk-one', provider: 'openai' } }, true],
      [{ embedder: { ...embedder, model: 'n' } }, false],
      [{ embedder, dimension: 8 }, false],
      [{ embedder, source: { kind: 'field', path: 'title' } }, false],
      [{ embedder, source: { kind: 'template', template: '{{text}}' } }, false],
    ]
    for (const [changes, isSame] of cases) {
      const { hash } = await sourceIn(changes, document)
      expect(hash.equals(plain.hash), JSON.stringify(changes)).to.equal(isSame)
    }
  })

  it('refuses a document over which a template fails, and names why', async () => {
    const template =
      '{{#each rows}}{{#each ../rows}}{{#each ../../rows}}x{{/each}}{{/each}}{{/each}}'
    const rows = Array.from({ length: 2_000 }, (_, at) => at)

    const error = await errorOf(() =>
      sourceIn({ source: { kind: 'template', template } }, { rows }),
    )

    expect(error).to.have.property('code', 'INVALID_ARGUMENT')
    expect(error)
      .to.have.property('message')
      .that.matches(/more than \d+ (steps|bytes)/)
  })

  it('refuses images that its embedder does not embed, beside sources that it does', async () => {
    const settings = { source: { kind: 'template', template: '{{text}}{{media url=photo}}' } }
    const photo = asDataUri(await imageOf(4, 4, 'png'), 'image/png')
    const shown = await sourceIn(settings, { photo, text: 'a photo' })
    const json = Buffer.from('{"text":"tide"}')
    const plain = await world?.enrichment.sourceOf({ key: Buffer.from('p'), json }, never)
    const sources = Array.from({ length: 20 }, (_, i) => (i % 5 === 2 || !plain ? shown : plain))

    const made = await world?.enrichment.make(sources, never)

    expect(made?.map(({ kind }) => kind)).to.deep.equal(
      sources.map((source) => (source === shown ? 'refused' : 'made')),
    )
    expect(made?.[2]).to.have.property('message').that.includes('embeds no images')
  })

  it('tells a file that is away from its model, and makes what names none', async () => {
    const settings = { source: { kind: 'template', template: '{{text}}{{media url=file}}' } }
    const away = await sourceIn(settings, { text: 'a', file: 'http://127.0.0.1:1/file' })
    const json = Buffer.from('{"text":"tide"}')
    const plain = await world?.enrichment.sourceOf({ key: Buffer.from('p'), json }, never)

    const made = await world?.enrichment.make(plain ? [away, plain] : [], never)

    expect(made?.map(({ kind }) => kind)).to.deep.equal(['away', 'made'])
    expect(made?.[0])
      .to.have.property('message')
      .that.matches(/^media http:\/\/127\.0\.0\.1:1\/file: .*ECONNREFUSED/)
  })

  it('makes a row for each chunk, and keeps the texts of chunks where it shall', async () => {
    await using inference = await InferenceServer.start()
    const config = {
      provider: 'quarry',
      url: inference.url,
      text: { target_tokens: 8, overlap_tokens: 0 },
    }
    const chunker = { config, storeChunks: true, fullText: false }
    const whole = 'The tide rises twice a day. It falls as often. Charts show low water. And more.'
    const source = await sourceIn({ chunker }, { text: whole })

    const [made] = (await world?.enrichment.make([source], never)) ?? []

    const artifact = made?.kind === 'made' ? made.artifact : undefined
    const chunks = artifact?.rows.map(({ start, end }) => whole.slice(start, end)) ?? []
    expect(chunks.length).to.be.at.least(3)
    expect(artifact?.texts).to.deep.equal({ chunks })
    expect(artifact?.rows.map(({ vector }) => [...vector])).to.deep.equal(chunks.map(doubleVector))
  })

  it('refuses only zeros for an index by cosine', async () => {
    const zeros = { ...quarryDouble, answer: answerZeros }
    for (const metric of ['cosine', 'l2_squared'] as const) {
      world = await openWorld({ metric }, zeros)
      const json = Buffer.from('{"text":"tide"}')
      const source = await world.enrichment.sourceOf({ key: Buffer.from('k'), json }, never)

      const [made] = await world.enrichment.make([source], never)
      await world.close()
      world = undefined

      expect(made).to.have.property('kind', metric === 'cosine' ? 'refused' : 'made')
    }
  })

  it('says that the model cannot be asked when it refuses any text', async () => {
    world = await openWorld()
    const json = Buffer.from('{"text":"tide"}')
    const source = await world.enrichment.sourceOf({ key: Buffer.from('k'), json }, never)
    const refusal: Fault = { kind: 'status', status: 401 }
    world.server.failNext(refusal, refusal)

    const error = await errorOf(() => world?.enrichment.make([source], never))

    expect(error).to.have.property('code', 'UNAVAILABLE')
    expect(error).to.have.property('message').that.includes('401')
    expect(world.server.received).to.have.lengthOf(2)
  })

  it('refuses an embedder that does not exist', async () => {
    const media = openMedia({
      settings: MEDIA_SETTINGS_DEFAULT,
      clock: systemClock,
      environment: {},
    })
    await using providers = openProviders()
    const templates = new TemplateCache({ clock: systemClock })
    const settings = settingsOf({ embedder: { provider: 'oracle' } })
    const index = { id: 'a'.repeat(16), name: 'meaning', settings }

    const error = await errorOf(() =>
      openEnrichment(index, { clock: systemClock, providers, templates, media }),
    )

    expect(error).to.have.property('message').that.includes('index "meaning": embedder.provider')
  })
})
