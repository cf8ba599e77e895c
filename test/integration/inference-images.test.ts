// Images through a model of two towers. Its tower of images answers the mean of each channel of what
// it is fed, so a plain colour's vector can be computed by hand from preprocessor_config.json.

import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import path from 'node:path'
import { expect } from 'chai'
import sharp from 'sharp'
import type { NetworkView } from '../../lib/media/host-policy.ts'
import { isPublicAddress } from '../../lib/media/public-address.ts'
import { silentLog } from '../../lib/log.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import type { InferenceAnswer } from '../support/servers/inference-server.ts'
import { close, listen, portOf } from '../support/servers/local-server.ts'
import {
  TINY_IMAGE_CONFIG,
  writeModelDirectory,
  writeTinyEmbedder,
  writeTinyTowers,
} from '../support/inference/model-directories.ts'
import { embedderGraph } from '../support/inference/model-graphs.ts'
import { combinedTowersGraph } from '../support/inference/tower-graphs.ts'
import { pngBomb } from '../support/worlds/media-files.ts'

type Colour = readonly [red: number, green: number, blue: number]

const JSON_ONLY = { accept: 'application/json' }
const TOWERS = 'acme/towers'
const ORANGE: Colour = [255, 102, 0]
const TEAL: Colour = [10, 128, 120]

/** 127.0.0.1 stands for the Internet, 127.0.0.2 for what only this machine reaches. */
const NETWORK: NetworkView = {
  resolve: async (host) => (host === 'inner.test' ? ['127.0.0.2'] : ['127.0.0.1']),
  isPublic: (address) => address === '127.0.0.1' || isPublicAddress(address),
}

describe('POST /api/embed with images', () => {
  let server: InferenceServer
  let open: Server
  let inner: Server
  let innerHits: number
  let answer: (request: IncomingMessage, response: ServerResponse) => void

  before(async () => {
    server = await InferenceServer.start(writeModels, {}, { network: NETWORK, log: silentLog })
    open = await listen('127.0.0.1', (request, response) => answer(request, response))
    inner = await listen('127.0.0.2', (_request, response) => {
      innerHits += 1
      response.end()
    })
  })

  beforeEach(() => {
    innerHits = 0
    answer = (_request, response) => response.writeHead(404).end()
  })

  after(async () => {
    await server[Symbol.asyncDispose]()
    await Promise.all([close(open), close(inner)])
  })

  function post(model: string, input: readonly object[]): Promise<InferenceAnswer> {
    return server.post('/api/embed', { model, input }, JSON_ONLY)
  }

  async function vectors(model: string, ...input: readonly object[]): Promise<number[][]> {
    const { status, json } = await post(model, input)
    expect(status, JSON.stringify(json)).to.equal(200)
    return json.embeddings
  }

  /** The message of a refusal, which must be the client's fault. */
  async function refusal(model: string, ...input: readonly object[]): Promise<string> {
    const { status, json } = await post(model, input)
    expect([status, json.code]).to.deep.equal([400, 'INVALID_ARGUMENT'])
    return json.error
  }

  const urlOf = (host: string, file: string, at = open) => `http://${host}:${portOf(at)}/${file}`

  it('answers the vector of a plain colour, normalised as the model demands', async () => {
    // 255, 102, 0 → 1, 0.4, 0 → (1 - 0.5) / 0.5, (0.4 - 0.25) / 0.25, (0 - 0.125) / 0.5
    const [orange] = await vectors(TOWERS, imagePart(dataUri(await plain(ORANGE))))

    expectClose(orange, unit([1, 0.6, -0.25, 1.35]))
  })

  it('embeds texts and images of one request, in its order', async () => {
    const [orange, hello, teal, foo] = await vectors(
      TOWERS,
      imagePart(dataUri(await plain(ORANGE))),
      textPart('hello worlds'),
      imagePart(dataUri(await plain(TEAL))),
      textPart('foo'),
    )

    expectClose(orange, vectorOfColour(ORANGE))
    expectClose(teal, vectorOfColour(TEAL))
    // The largest of each column over 2 4 5 6 3 and over 2 7 3, from the last to the first.
    expectClose(hello, unit([9, -2, 1, 6]))
    expectClose(foo, unit([12.25, -2, 1, 7]))
  })

  it('resizes the whole image before it shows the middle', async () => {
    // The middle of 160 × 32 pixels is teal but for the 8 × 8 in its centre, which are all that a
    // crop would leave if it came first. The mean of each channel is kept by the resizing.
    const middle = { input: await plain(TEAL, 64, 32), left: 48, top: 0 }
    const centre = { input: await plain([255, 255, 255], 8), left: 76, top: 12 }
    const ground = sharp(await plain(ORANGE, 160, 32))
    const bytes = await ground.composite([middle, centre]).png().toBuffer()

    const [vector] = await vectors('raw', imagePart(dataUri(bytes)))

    const mean = TEAL.map((value) => (value * 15 + 255) / 16 / 255)
    expectClose(vector, unit([...mean, mean.reduce((sum, value) => sum + value)]), 0.01)
  })

  it('pools the end token of a tower of texts that does not pool', async () => {
    // [SEP] has the id 3.
    const [text] = await vectors('unpooled', textPart('hello worlds'))

    expectClose(text, unit([2.25, -3, 1, 3]))
  })

  it('downloads images from their URLs', async () => {
    const bytes = await plain(TEAL)
    answer = (request, response) => {
      if (request.url === '/old.png') redirect(response, '/new.png')
      else response.end(bytes)
    }

    const [teal] = await vectors(TOWERS, imagePart(urlOf('images.test', 'old.png')))

    expectClose(teal, vectorOfColour(TEAL))
  })

  it('runs once for equal images from different URLs', async () => {
    const bytes = await plain([1, 2, 3])
    answer = (_request, response) => response.end(bytes)
    const runs = 'quarry_inference_results_total{task="embed",source="run"}'
    const before = await server.metric(runs)

    const [one, other] = [
      await vectors(TOWERS, imagePart(dataUri(bytes))),
      await vectors(TOWERS, imagePart(urlOf('images.test', 'a.png'))),
    ]

    expect(one).to.deep.equal(other)
    expect(await server.metric(runs)).to.equal(before + 1)
  })

  it('refuses a private address and a redirect to one without a connection', async () => {
    answer = (_request, response) => redirect(response, urlOf('inner.test', 'a.png', inner))

    const urls = [
      urlOf('inner.test', 'a.png', inner),
      urlOf('127.0.0.2', 'a.png', inner),
      urlOf('images.test', 'a.png'),
    ]
    for (const url of urls) {
      expect(await refusal(TOWERS, imagePart(url))).to.include('does not have a public address')
    }
    expect(innerHits).to.equal(0)
  })

  it('refuses images that are too large to be downloaded', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100000001' }).flushHeaders()
    }

    expect(await refusal(TOWERS, imagePart(urlOf('images.test', 'a.png')))).to.include(
      'the body is larger than 100000000 bytes',
    )
  })

  const bad: Readonly<Record<string, [url: () => string | Promise<string>, why: string]>> = {
    'bad base64': [() => 'data:image/png;base64,iVBO*w0K', 'is not base64'],
    'what is no image': [() => dataUri(Buffer.from('#!/bin/sh')), 'is not an image of type PNG'],
    'what is an image by its first bytes alone': [
      () => dataUri(Buffer.from('89504e470d0a1a0a', 'hex')),
      'image: it cannot be decoded',
    ],
    'half an image': [
      async () => dataUri((await noise()).subarray(0, 5000)),
      'image: it cannot be decoded',
    ],
    'an image that unpacks to too many bytes': [
      () => dataUri(pngBomb(60_000, 60_000)),
      'its 60000 × 60000 pixels unpack to 10800000000 bytes',
    ],
    'a strip': [
      async () => dataUri(await plain(TEAL, 402, 2)),
      'one edge is over 200 times the other',
    ],
    'an address that is no URL': [() => 'a.png', 'neither a data URI nor a URL'],
    'a file of the server': [() => 'file:///etc/passwd', 'file: is not read'],
    'what is not there': [() => urlOf('images.test', 'none.png'), 'status 404'],
  }
  for (const [what, [url, why]] of Object.entries(bad)) {
    it(`refuses ${what}`, async () => {
      const good = imagePart(dataUri(await plain(ORANGE)))

      expect(await refusal(TOWERS, good, imagePart(await url()))).to.include(why)
    })
  }

  it('refuses images for a model of texts', async () => {
    const image = imagePart(dataUri(await plain(ORANGE)))

    expect(await refusal('texts', textPart('foo'), image)).to.match(/^input\[1\].*only text/)
  })

  const unfit: Readonly<Record<string, RegExp>> = {
    combined: /takes pixel_values beside tokens.*needs text_model\.onnx and vision_model\.onnx/,
    'combined-image': /the graph of images takes input_ids beside pixels/,
    apart: /the vectors of texts have 4 numbers, those of images 3; a projection is missing/,
  }
  for (const [model, why] of Object.entries(unfit)) {
    it(`says why it cannot load the model "${model}"`, async () => {
      const { status, json } = await post(model, [textPart('foo')])

      expect(status).to.equal(503)
      expect(json.error).to.match(why)
    })
  }
})

async function writeModels(root: string): Promise<void> {
  const at = (name: string): string => path.join(root, 'embedders', name)
  await writeTinyEmbedder(at('texts'))
  await writeTinyTowers(at(TOWERS))
  await writeTinyTowers(at('raw'), {
    'preprocessor_config.json': { ...TINY_IMAGE_CONFIG, do_normalize: false },
  })
  await writeTinyTowers(at('unpooled'), { 'text_model.onnx': embedderGraph() })
  await writeTinyEmbedder(at('combined'))
  await writeModelDirectory(at('combined'), { 'model.onnx': combinedTowersGraph() })
  await writeTinyTowers(at('combined-image'), { 'visual_model.onnx': combinedTowersGraph() })
  await writeTinyTowers(at('apart'), { 'visual_projection.onnx': undefined })
}

function imagePart(url: string): object {
  return { type: 'image_url', image_url: { url } }
}

function textPart(text: string): object {
  return { type: 'text', text }
}

function dataUri(bytes: Buffer): string {
  return `data:image/png;base64,${bytes.toString('base64')}`
}

function plain([r, g, b]: Colour, width = 30, height = width): Promise<Buffer> {
  return sharp({ create: { width, height, channels: 3, background: { r, g, b } } })
    .png()
    .toBuffer()
}

/** A JPEG that is too large to be whole after some thousand bytes. */
function noise(): Promise<Buffer> {
  const pixels = Uint8Array.from({ length: 3 * 128 * 128 }, (_, at) => (at * at * 31) % 251)
  return sharp(pixels, { raw: { width: 128, height: 128, channels: 3 } })
    .jpeg({ quality: 100 })
    .toBuffer()
}

/** By the means, deviations and the projection of the tiny model. */
function vectorOfColour(colour: Colour): number[] {
  const { image_mean: mean, image_std: deviation } = TINY_IMAGE_CONFIG
  const channels = colour.map((value, i) => (value / 255 - mean[i]!) / deviation[i]!)
  return unit([...channels, channels.reduce((sum, value) => sum + value)])
}

function unit(vector: readonly number[]): number[] {
  return vector.map((value) => value / Math.hypot(...vector))
}

function expectClose(
  actual: readonly number[] | undefined,
  expected: readonly number[],
  within = 1e-6,
): void {
  expect(actual).to.have.length(expected.length)
  expected.forEach((value, i) => expect(actual![i]).to.be.closeTo(value, within))
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(302, { location }).end()
}
