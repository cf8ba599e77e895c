// Sources prepared with real files, a real chunker, and a generator that a test writes.

import type { Server } from 'node:http'
import { env } from 'node:process'
import { text as textOf } from 'node:stream/consumers'
import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../../lib/clock.ts'
import { openMedia, type Media } from '../../../../../node/media/open-media.ts'
import { MEDIA_SETTINGS_DEFAULT } from '../../../../../node/media/media-settings.ts'
import type { Providers } from '../../../../../node/providers/providers.ts'
import type { PlainMembers } from '../../../../../node/embedding/setting-members.ts'
import type {
  PreparedSource,
  SourcePart,
} from '../../../../../node/enrichment/prepare/source-preparer.ts'
import {
  openPreparer,
  parsePreparation,
  type PreparerParts,
  type PreparerSettings,
} from '../../../../../node/enrichment/prepare/model-preparer.ts'
import { errorOf } from '../../../../support/error-of.ts'
import { InferenceServer } from '../../../../support/servers/inference-server.ts'
import { close, listen, portOf } from '../../../../support/servers/local-server.ts'
import { openProviders } from '../../../../support/servers/providers/opened-providers.ts'
import { imageOf } from '../../../../support/worlds/media-files.ts'
import { pdfOf, pdfText } from '../../../../support/worlds/pdf-documents.ts'

const DIMENSION = 4
const never = new AbortController().signal
const TEXTS = { name: 'texts only', acceptsImages: false }
const PICTURES = { name: 'pictures, too', acceptsImages: true }

const text = (words: string): SourcePart => ({ kind: 'text', text: words })
const sentences = (count: number): string =>
  Array.from({ length: count }, (_, i) => `Sentence ${i} says how high the water stood.`).join(' ')

const said = (content: string) => ({ status: 200, body: { choices: [{ message: { content } }] } })
const kindsOf = ({ rows }: PreparedSource): readonly (readonly string[])[] =>
  rows.map(({ parts }) => parts.map(({ kind }) => kind))

interface Prompted {
  readonly kinds: readonly string[]
  readonly text: string
}

describe('sources of a managed index', () => {
  let inference: InferenceServer
  let files: Server
  let providers: Providers
  let media: Media
  let image: Buffer
  let prompts: Prompted[]
  /** Undefined: the generator stays silent. */
  let answer: (prompt: Prompted) => { readonly status: number; readonly body: unknown } | undefined

  before(async () => {
    inference = await InferenceServer.start()
    providers = openProviders()
    image = await imageOf(8, 8, 'png')
    files = await listen('127.0.0.1', async (request, response) => {
      const { url = '' } = request
      if (url === '/harbour.png') return response.end(image)
      if (url === '/chart.pdf') return response.end(pdfOf(pdfText('low water')))
      if (url === '/song.mp3') return response.end(Buffer.from('ID3 a song'))
      if (url !== '/v1/chat/completions') return response.writeHead(404).end()
      const { messages } = JSON.parse(await textOf(request))
      const content: readonly { type: string; text?: string }[] = messages[0].content
      const prompt = {
        kinds: content.map(({ type }) => type),
        text: content.map((part) => part.text ?? '').join(' '),
      }
      prompts.push(prompt)
      const found = answer(prompt)
      return found && response.writeHead(found.status).end(JSON.stringify(found.body))
    })
    const settings = { ...MEDIA_SETTINGS_DEFAULT, blockPrivateIps: false }
    media = openMedia({ settings, clock: systemClock, environment: env })
  })

  after(async () => {
    await media[Symbol.asyncDispose]()
    await providers[Symbol.asyncDispose]()
    await close(files)
    await inference[Symbol.asyncDispose]()
  })

  beforeEach(() => {
    prompts = []
    answer = () => said('A harbour at night.')
  })

  const fileAt = (name: string): SourcePart => {
    return { kind: 'media', url: `http://127.0.0.1:${portOf(files)}/${name}`, expects: 'any' }
  }
  const chunking = (more: object = {}) => {
    const small = { target_tokens: 40, overlap_tokens: 5 }
    return { provider: 'quarry', url: inference.url, text: small, ...more }
  }
  const summarizing = (): PlainMembers => {
    const url = `http://127.0.0.1:${portOf(files)}`
    return { provider: 'openai', model: 'seer', url, api_key: 'none' }
  }

  async function prepare(
    parts: readonly SourcePart[],
    more: Partial<PreparerSettings> = {},
    embedder: PreparerParts['embedder'] = TEXTS,
  ): Promise<PreparedSource> {
    const settings = { dimension: DIMENSION, ...more }
    const preparer = openPreparer(parsePreparation(settings, 'index "i"'), {
      clock: systemClock,
      providers,
      media,
      embedder,
    })
    try {
      const source = { parts, hash: Buffer.alloc(16, 1), bytes: 0 }
      const prepared = await preparer.prepare(source, { signal: never })
      prepared.held?.[Symbol.dispose]()
      return prepared
    } finally {
      await preparer.close()
    }
  }

  it('of texts are one row, with the texts of files where they are named', async () => {
    const { rows, texts } = await prepare([text('Chart: '), fileAt('chart.pdf'), text('End')])

    expect(rows).to.deep.equal([
      { start: 0, end: 0, parts: [{ kind: 'text', text: 'Chart: \nlow water\nEnd' }] },
    ])
    expect(texts).to.equal(undefined)
    expect((await prepare([text('  ')])).rows).to.deep.equal([])
  }).timeout(30_000)

  it('are cut into chunks with their places, and keep their texts where settings say so', async () => {
    const whole = sentences(40)
    const config = chunking()
    const bare = await prepare([text(whole)], {
      chunker: { config, storeChunks: false, fullText: false },
    })
    const kept = await prepare([text(whole)], {
      chunker: { config, storeChunks: false, fullText: true },
    })

    expect(bare.rows.length).to.be.greaterThan(5)
    expect(bare.rows).to.deep.equal(kept.rows)
    expect(bare.texts).to.equal(undefined)
    for (const [i, { start, end, parts }] of kept.rows.entries()) {
      expect(parts).to.deep.equal([{ kind: 'text', text: whole.slice(start, end) }])
      expect(kept.texts?.chunks?.[i]).to.equal(whole.slice(start, end))
    }
    expect(kept.rows.at(-1)?.end).to.equal(whole.length)
  })

  it('are cut to their ends, also where they are longer than a chunker takes', async () => {
    const whole = `${'é'.repeat(600)} ${sentences(20_000)}`
    const config = chunking({ text: { target_tokens: 500, overlap_tokens: 0 } })
    const chunker = { config, storeChunks: false, fullText: false }

    const { rows } = await prepare([text(whole)], { chunker })
    const few = await prepare([text(whole)], {
      chunker: { ...chunker, config: { ...config, max_chunks: 3 } },
    })

    expect(whole.length).to.be.greaterThan(600_000)
    let end = 0
    for (const row of rows) {
      expect(whole.slice(end, row.start).trim()).to.equal('')
      expect(row.parts).to.deep.equal([{ kind: 'text', text: whole.slice(row.start, row.end) }])
      end = row.end
    }
    expect(end).to.equal(whole.length)
    expect(few.rows).to.deep.equal(rows.slice(0, 3))
  }).timeout(30_000)

  it('with images are one item of a model that embeds them', async () => {
    const parts = [text('A harbour'), fileAt('harbour.png')]

    const prepared = await prepare(parts, {}, PICTURES)

    expect(kindsOf(prepared)).to.deep.equal([['text', 'image']])
    const [, shown] = prepared.rows[0]?.parts ?? []
    expect(shown).to.have.property('dataUri', `data:image/png;base64,${image.toString('base64')}`)
  })

  it('with images have a row for each image beside their chunks', async () => {
    const chunker = { config: chunking(), storeChunks: true, fullText: false }
    const parts = [text('Before. '), fileAt('harbour.png'), text(sentences(10))]

    const prepared = await prepare(parts, { chunker }, PICTURES)

    const { rows, texts } = prepared
    expect(kindsOf(prepared).at(-1)).to.deep.equal(['image'])
    expect(rows.at(-1)).to.include({ start: 8, end: 8 })
    expect(texts?.chunks).to.have.length(rows.length)
    expect(texts?.chunks?.at(-1)).to.equal('')
  })

  it('with images are described first where a summarizer is set', async () => {
    const parts = [text('Taken in spring.'), fileAt('harbour.png')]

    const prepared = await prepare(parts, { summarizer: summarizing() })

    expect(prompts.map(({ kinds }) => kinds)).to.deep.equal([['text', 'text', 'image_url']])
    expect(prompts[0]?.text).to.include('Taken in spring.')
    expect(prepared.rows).to.deep.equal([
      { start: 0, end: 0, parts: [{ kind: 'text', text: 'A harbour at night.' }] },
    ])
    expect(prepared.texts).to.deep.equal({ summary: 'A harbour at night.' })
  })

  it('of texts alone ask no summarizer', async () => {
    const prepared = await prepare([text('A harbour')], { summarizer: summarizing() })

    expect(prompts).to.deep.equal([])
    expect(prepared.texts).to.equal(undefined)
  })

  it('have their descriptions cut, too', async () => {
    answer = () => said(sentences(30))
    const chunker = { config: chunking(), storeChunks: true, fullText: false }

    const { rows, texts } = await prepare([fileAt('harbour.png')], {
      summarizer: summarizing(),
      chunker,
    })

    expect(texts?.summary).to.equal(sentences(30))
    expect(rows.length).to.be.greaterThan(3)
    expect(texts?.chunks?.[1]).to.equal(texts?.summary?.slice(rows[1]?.start, rows[1]?.end))
  })

  it('are refused by name for what no model of the index reads', async () => {
    const ofPictures = String(await errorOf(() => prepare([fileAt('harbour.png')])))
    const ofSounds = String(await errorOf(() => prepare([fileAt('song.mp3')], {}, PICTURES)))
    const deaf = { summarizer: summarizing() }
    const unheard = await errorOf(() => prepare([fileAt('song.mp3')], deaf))
    const missing = await errorOf(() => prepare([fileAt('none.png')]))

    expect(ofPictures).to.include('texts only embeds no images; give the index a summarizer')
    expect(ofSounds).to.include('audio cannot be embedded itself; give the index a summarizer')
    expect(String(unheard)).to.include('use another provider for sounds')
    expect(missing).to.include({ code: 'INVALID_ARGUMENT' })
    expect(String(missing)).to.include('/none.png').and.include('404')
  })

  it('are refused when their chunks take more than is kept of a document', async () => {
    const config = chunking({ text: { target_tokens: 10, overlap_tokens: 0 } })
    const chunker = { config, storeChunks: false, fullText: false }
    const large = { dimension: 16_384, chunker }

    const refusal = await errorOf(() => prepare([text(sentences(400))], large))

    expect(refusal).to.include({ code: 'INVALID_ARGUMENT' })
    expect(String(refusal)).to.match(/chunks of 16384 numbers .* 16777216 are kept of a document/)
  })

  it('are at fault when a model refuses them alone, and not when it refuses all', async () => {
    const bad = { status: 400, body: { error: { message: 'unsafe image' } } }
    const settings = { summarizer: summarizing() }
    answer = ({ kinds }) => (kinds.includes('image_url') ? bad : said('yes'))
    const alone = await errorOf(() => prepare([fileAt('harbour.png')], settings))
    answer = () => bad
    const all = await errorOf(() => prepare([fileAt('harbour.png')], settings))
    answer = () => ({ status: 503, body: {} })
    const down = await errorOf(() => prepare([fileAt('harbour.png')], settings))
    const config = chunking({ model: 'unknown-chunker' })
    const chunker = { config, storeChunks: false, fullText: false }
    const unknown = await errorOf(() => prepare([text('A harbour')], { chunker }))

    expect(alone).to.include({ code: 'INVALID_ARGUMENT' })
    expect(all).to.include({ code: 'UNAVAILABLE' })
    expect(down).to.include({ code: 'UNAVAILABLE' })
    expect(unknown).to.include({ code: 'UNAVAILABLE' })
    expect(String(unknown)).to.include('unknown-chunker')
  })

  it('hold the memory of their files until they are embedded, or fail', async () => {
    const preparer = openPreparer(parsePreparation({ dimension: 4 }, 'i'), {
      clock: systemClock,
      providers,
      media,
      embedder: PICTURES,
    })
    const source = { parts: [fileAt('harbour.png')], hash: Buffer.alloc(16, 1), bytes: 0 }

    const prepared = await preparer.prepare(source, { signal: never })
    const heldBytes = media.budget.heldBytes
    prepared.held?.[Symbol.dispose]()
    const after = media.budget.heldBytes
    await errorOf(() => prepare([fileAt('harbour.png')]))

    expect(heldBytes).to.be.greaterThan(image.length)
    expect([after, media.budget.heldBytes]).to.deep.equal([0, 0])
    await preparer.close()
  })

  it('are away when their files take minutes, however many there are', async () => {
    const clock = new ManualClock()
    const asked = Promise.withResolvers<void>()
    const slow: PreparerParts['media']['resolver'] = {
      resolve: (_reference, { signal }) =>
        new Promise((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason), { once: true })
          asked.resolve()
        }),
    }
    const preparer = openPreparer(parsePreparation({ dimension: 4 }, 'i'), {
      clock,
      providers,
      media: { resolver: slow, budget: media.budget },
      embedder: PICTURES,
    })
    const parts = [fileAt('one'), fileAt('two')]

    const error = errorOf(() =>
      preparer.prepare({ parts, hash: Buffer.alloc(16, 1), bytes: 0 }, { signal: never }),
    )
    await asked.promise
    clock.advance(120_000)

    expect(await error).to.include({ code: 'UNAVAILABLE' })
    expect(String(await error)).to.include('files that it names take more than 120000 ms')
    await preparer.close()
  })

  it('end with their preparer, which gives its models back', async () => {
    const settings = { dimension: 4, summarizer: summarizing() }
    const preparer = openPreparer(parsePreparation(settings, 'index "i"'), {
      clock: systemClock,
      providers,
      media,
      embedder: TEXTS,
    })
    const waiting = Promise.withResolvers<void>()
    answer = () => {
      waiting.resolve()
      return undefined
    }
    const source = { parts: [fileAt('harbour.png')], hash: Buffer.alloc(16, 1), bytes: 0 }
    const running = errorOf(() => preparer.prepare(source, { signal: never }))
    await waiting.promise

    await preparer.close()

    expect(await running).to.include({ code: 'UNAVAILABLE' })
    expect(await errorOf(() => preparer.prepare(source, { signal: never }))).to.include({
      code: 'UNAVAILABLE',
    })
    expect(providers.generators.size).to.equal(0)
  })
})
