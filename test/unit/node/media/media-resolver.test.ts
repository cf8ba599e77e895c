// Media from real servers on this machine. 127.0.0.1 stands for the Internet where a test says so, and
// 127.0.0.2 for what only this machine reaches.

import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { env, memoryUsage } from 'node:process'
import { pathToFileURL } from 'node:url'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import sharp from 'sharp'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import type { Clock } from '../../../../lib/clock.ts'
import type { NetworkView } from '../../../../lib/media/host-policy.ts'
import { isPublicAddress } from '../../../../lib/media/public-address.ts'
import { DocumentReader } from '../../../../node/media/document-reader.ts'
import { MediaBudget } from '../../../../node/media/media-budget.ts'
import { MediaResolver } from '../../../../node/media/media-resolver.ts'
import type { MediaContent, MediaReference } from '../../../../node/media/media-resolver.ts'
import { openMedia } from '../../../../node/media/open-media.ts'
import { MEDIA_SETTINGS_DEFAULT } from '../../../../node/media/media-settings.ts'
import type { MediaSettings } from '../../../../node/media/media-settings.ts'
import { s3SettingsOf } from '../../../../node/media/s3-source.ts'
import { errorOf } from '../../../support/error-of.ts'
import { close, listen, portOf } from '../../../support/servers/local-server.ts'
import {
  asDataUri,
  bytesOfDataUri,
  imageOf,
  pngBomb,
  sendEndlessly,
} from '../../../support/worlds/media-files.ts'
import { pdfOf, pdfText } from '../../../support/worlds/pdf-documents.ts'

const MEGABYTE = 1_000_000

/** In all forms that a URL can have. */
const PRIVATE_HOSTS = (
  '127.0.0.1 localhost 2130706433 0177.0.0.1 0x7f000001 127.1 0.0.0.0 [::1] [::ffff:127.0.0.1] ' +
  '[::ffff:7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::] 169.254.169.254 10.1.2.3 172.16.0.1 ' +
  '192.168.1.1 100.64.0.1 168.63.129.16 198.18.0.1 [fd00::1] [fe80::1] [ff02::1] [::127.0.0.1]'
).split(' ')

describe('media', () => {
  let open: Server
  let inner: Server
  let innerHits: number
  let answer: (request: IncomingMessage, response: ServerResponse) => void
  let documents: DocumentReader
  let budget: MediaBudget

  before(() => {
    documents = new DocumentReader({ clock: systemClock, environment: env, timeoutMs: 60_000 })
  })

  after(() => documents.close())

  beforeEach(async () => {
    innerHits = 0
    answer = (_request, response) => response.end('hello')
    budget = new MediaBudget({ bytesMax: 300 * MEGABYTE, waitMs: 10_000, clock: systemClock })
    open = await listen('127.0.0.1', (request, response) => answer(request, response))
    inner = await listen('127.0.0.2', (_request, response) => {
      innerHits += 1
      response.end('secret')
    })
  })

  afterEach(() => Promise.all([close(open), close(inner)]))

  const hosts: Record<string, readonly string[]> = {
    'open.test': ['127.0.0.1'],
    'inner.test': ['127.0.0.2'],
    'mixed.test': ['127.0.0.1', '127.0.0.2'],
    'mapped.test': ['::ffff:127.0.0.2'],
    'metadata.test': ['169.254.169.254'],
    'ten.test': ['10.0.0.1'],
    'unique-local.test': ['fd00::1'],
  }
  /** 127.0.0.1 is on the Internet here, as far as the names above lead there. */
  const network: NetworkView = {
    resolve: async (host) => hosts[host] ?? [],
    isPublic: (address) => address === '127.0.0.1' || isPublicAddress(address),
  }

  interface With {
    readonly settings?: Partial<MediaSettings>
    readonly clock?: Clock
    readonly network?: NetworkView
  }

  function resolverOf(
    { settings = {}, clock = systemClock, ...parts }: With = { network },
  ): MediaResolver {
    return new MediaResolver({
      settings: { ...MEDIA_SETTINGS_DEFAULT, ...settings },
      clock,
      documents,
      ...parts,
    })
  }

  async function resolve(
    url: string,
    parts: With = { network },
    expects: MediaReference['expects'] = 'any',
  ): Promise<MediaContent> {
    using holding = budget.hold(new AbortController().signal)
    return await resolverOf(parts).resolve({ url, expects }, holding)
  }

  const urlOf = (host: string, server = open): string =>
    `http://${host}:${portOf(server)}/a?token=x`

  describe('of each type', () => {
    it('are images as they are, if they are small', async () => {
      for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
        const bytes = await imageOf(20, 10, format)

        const content = await resolve(asDataUri(bytes))

        expect(content).to.deep.equal({
          kind: 'image',
          mediaType: `image/${format}`,
          dataUri: `data:image/${format};base64,${bytes.toString('base64')}`,
        })
      }
    })

    it('are images that are resized, if they are large', async () => {
      for (const format of ['png', 'jpeg', 'webp', 'gif'] as const) {
        const content = await resolve(asDataUri(await imageOf(3000, 1500, format)))

        if (content.kind !== 'image') expect.fail(`it is ${content.kind}`)
        const {
          width,
          height,
          format: made,
        } = await sharp(bytesOfDataUri(content.dataUri)).metadata()
        expect([width, height, made]).to.deep.equal([2048, 1024, format === 'gif' ? 'png' : format])
      }
    })

    it('are the text of a PDF, or its first page', async () => {
      expect(await resolve(asDataUri(pdfOf(pdfText('Hello'))))).to.deep.equal({
        kind: 'text',
        text: 'Hello',
      })
      const page = await resolve(asDataUri(pdfOf('1 0 0 rg 50 50 100 100 re f')))
      expect(page).to.include({ kind: 'image', mediaType: 'image/png' })
    })

    it('are the article of a page, or all its text', async () => {
      const paragraphs = '<p>Words, with commas, of an article &amp; more.</p>'.repeat(20)
      const page = `<html><head><title>T</title></head><body><nav>menu</nav><article>${paragraphs}</article></body></html>`
      const short = '<!doctype html><p>a</p><script>x</script><p>b</p>'

      const article = await resolve(asDataUri(page, 'text/html'))
      const whole = await resolve(asDataUri(short, 'text/html'))

      expect(article.kind === 'text' && article.text).to.match(
        /^T\nWords, with commas, of an article & more\.\n/,
      )
      expect(article.kind === 'text' && article.text).not.to.include('menu')
      expect(whole).to.deep.equal({ kind: 'text', text: 'a\nb' })
    })

    it('are texts in their charset', async () => {
      const utf16 = Buffer.from('\uFEFFgrün', 'utf16le')
      const latin = Buffer.from('grün', 'latin1')

      expect(await resolve(asDataUri('grün'))).to.include({ text: 'grün' })
      expect(await resolve(asDataUri(utf16, 'text/plain'))).to.include({ text: 'grün' })
      answer = (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/plain; charset=iso-8859-1' }).end(latin)
      expect(await resolve(urlOf('open.test'))).to.include({ text: 'grün' })
    })

    it('are sounds and films as they are', async () => {
      const sound = Buffer.from('fLaC and more')
      const film = Buffer.from('\0\0\0\x18ftypmp42 and more', 'latin1')

      expect(await resolve(asDataUri(sound))).to.deep.equal({
        kind: 'audio',
        mediaType: 'audio/flac',
        dataUri: asDataUri(sound, 'audio/flac'),
      })
      expect(await resolve(asDataUri(film))).to.include({ kind: 'video', mediaType: 'video/mp4' })
    })
  })

  it('are read from files under an allowed directory, and from a bucket with a signature', async () => {
    const directory = await mkdtemp(path.join(tmpdir(), 'media-'))
    await writeFile(path.join(directory, 'a.txt'), 'from a file')
    let authorization = ''
    answer = (request, response) => {
      authorization = request.headers.authorization ?? ''
      response.end(`from S3 ${request.url}`)
    }
    const keys = { AWS_ACCESS_KEY_ID: 'id', AWS_SECRET_ACCESS_KEY: 'secret' }
    const endpoint = { AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${portOf(open)}` }
    const settings = {
      allowedDirectories: [directory],
      s3: s3SettingsOf({ ...keys, ...endpoint }, ['photos']),
    }

    const file = await resolve(pathToFileURL(path.join(directory, 'a.txt')).href, { settings })
    const object = await resolve('s3://photos/a b', { settings })
    await rm(directory, { recursive: true })

    expect(file).to.deep.equal({ kind: 'text', text: 'from a file' })
    expect(object).to.deep.equal({ kind: 'text', text: 'from S3 /photos/a%20b' })
    expect(authorization).to.include('AWS4-HMAC-SHA256 Credential=id/')
  })

  it('are charged as they arrive, and as results until they are given back', async () => {
    const image = await imageOf(3000, 3000, 'jpeg')
    const small = new MediaBudget({ bytesMax: image.length / 2, waitMs: 1, clock: systemClock })
    const signal = new AbortController().signal
    using roomy = budget.hold(signal)
    using narrow = small.hold(signal)

    const content = await resolverOf().resolve({ url: asDataUri(image), expects: 'any' }, roomy)
    const reference = { url: asDataUri(image), expects: 'any' } as const
    const error = await errorOf(() => resolverOf().resolve(reference, narrow))

    expect(budget.heldBytes).to.equal(content.kind === 'image' ? content.dataUri.length : 0)
    expect(error).to.have.property('code', 'OVERLOADED')
    expect(small.heldBytes).to.equal(0)
  })

  describe('from where they may not come', () => {
    /** By the system's resolver and the real rule for addresses, unless a name needs another one. */
    const refusals: Record<string, readonly [url: () => string, why: string, parts?: With]> = {
      'a name of a private address': [
        () => urlOf('inner.test', inner),
        'does not have a public address',
      ],
      'a name of public and private ones': [
        () => urlOf('mixed.test'),
        'does not have a public address',
      ],
      'a name of a mapped address': [
        () => urlOf('mapped.test', inner),
        'does not have a public address',
      ],
      'a name of the metadata service': [
        () => urlOf('metadata.test'),
        'does not have a public address',
      ],
      'a name of 10.0.0.1': [() => urlOf('ten.test'), 'does not have a public address'],
      'a name of unique-local IPv6': [
        () => urlOf('unique-local.test'),
        'does not have a public address',
      ],
      'a host that is not allowed': [
        () => urlOf('open.test'),
        'host open.test is not among the allowed hosts',
        { network, settings: { allowedHosts: ['other.test'] } },
      ],
      'file:': [() => 'file:///etc/passwd', 'file: is not allowed here'],
      'a file outside': [
        () => 'file:///etc/passwd',
        'outside the allowed directories',
        { settings: { allowedDirectories: ['/nowhere'] } },
      ],
      's3: without settings': [() => 's3://bucket/key', 'not among the allowed buckets'],
      's3: at a private endpoint': [
        () => 's3://127.0.0.1:9000/bucket/key',
        'does not have a public address',
        {},
      ],
      'another scheme': [() => 'gopher://open.test/', 'use a data URI, or a URL with http:'],
      'no scheme': [() => '/etc/passwd', 'use a data URI, or a URL with http:'],
      'a password': [() => 'http://me:secret@open.test/', 'must not carry a password'],
    }
    for (const host of PRIVATE_HOSTS) {
      refusals[`host ${host}`] = [() => urlOf(host), 'does not have a public address', {}]
    }
    for (const [what, [url, why, parts]] of Object.entries(refusals)) {
      it(`are refused: ${what}`, async () => {
        let hits = 0
        answer = (_request, response) => {
          hits += 1
          response.end('secret')
        }

        const error = await errorOf(() => resolve(url(), parts))

        expect(error).to.have.property('code', 'INVALID_ARGUMENT')
        expect(error)
          .to.have.property('message')
          .that.includes(why)
          .and.not.match(/secret|token/)
        expect([hits, innerHits, budget.heldBytes]).to.deep.equal([0, 0, 0])
      })
    }

    for (const target of ['inner.test', '127.0.0.2', '[::ffff:127.0.0.2]', '2130706434']) {
      it(`are refused after a redirect to ${target}`, async () => {
        answer = (_request, response) =>
          response.writeHead(302, { location: urlOf(target, inner) }).end()

        const error = await errorOf(() => resolve(urlOf('open.test')))

        expect(error).to.have.property('message').that.includes('does not have a public address')
        expect(innerHits).to.equal(0)
      })
    }

    it('are refused after a redirect to a file, and after redirects in a circle', async () => {
      answer = (_request, response) =>
        response.writeHead(302, { location: 'file:///etc/passwd' }).end()
      const file = await errorOf(() => resolve(urlOf('open.test')))
      answer = (_request, response) => response.writeHead(302, { location: '/a' }).end()
      const circle = await errorOf(() => resolve(urlOf('open.test')))

      expect(file).to.have.property('message').that.includes('file: is not read')
      expect(circle).to.have.property('message').that.includes('more than 5 redirects')
    })

    it('are read from the address that was checked, whatever the name leads to later', async () => {
      const answers = [['127.0.0.1'], ['127.0.0.2']]
      const rebinding = {
        resolve: async () => answers.shift() ?? ['127.0.0.2'],
        isPublic: (address: string) => address === '127.0.0.1',
      }

      expect(await resolve(urlOf('rebinding.test'), { network: rebinding })).to.include({
        text: 'hello',
      })
      expect(innerHits).to.equal(0)
    })

    it('are read from private addresses where the settings allow it', async () => {
      const settings = { blockPrivateIps: false }

      expect(await resolve(urlOf('127.0.0.2', inner), { settings })).to.include({ text: 'secret' })
    })
  })

  describe('that are hostile', () => {
    it('do not fill the memory, if they never end', async () => {
      answer = (_request, response) => sendEndlessly(response)
      const settings = { downloadBytesMax: 20 * MEGABYTE }
      const before = memoryUsage().rss
      let highest = 0
      const watch = setInterval(() => (highest = Math.max(highest, memoryUsage().rss)), 5)

      const error = await errorOf(() => resolve(urlOf('open.test'), { network, settings }))
      clearInterval(watch)

      expect(error).to.have.property('message').that.includes('larger than 20000000 bytes')
      expect(highest - before).to.be.below(150 * MEGABYTE)
      expect(budget.heldBytes).to.equal(0)
    })

    it('are refused by their announced length of ten gigabytes', async () => {
      answer = (_request, response) =>
        response.writeHead(200, { 'content-length': '10000000000' }).write('x')

      const error = await errorOf(() => resolve(urlOf('open.test')))

      expect(error).to.have.property('message').that.includes('larger than 100000000 bytes')
    })

    it('wait for the memory that other media hold, and then are refused', async () => {
      const clock = new ManualClock()
      budget = new MediaBudget({ bytesMax: 1000, waitMs: 10_000, clock })
      using other = budget.hold(new AbortController().signal)
      await other.add(990)
      answer = (_request, response) => response.end('x'.repeat(500))

      const refused = errorOf(() => resolve(urlOf('open.test')))
      const timer = setInterval(() => clock.advance(10_000), 20)
      const error = await refused
      clearInterval(timer)

      expect(error).to.have.property('code', 'OVERLOADED')
      expect(budget.heldBytes).to.equal(990)
    })

    it('are refused as gzip, which nobody asked for', async () => {
      answer = (_request, response) =>
        response
          .writeHead(200, { 'content-encoding': 'gzip' })
          .end(gzipSync(Buffer.alloc(10 * MEGABYTE)))

      const error = await errorOf(() => resolve(urlOf('open.test')))

      expect(error).to.have.property('message').that.includes('the host sends gzip')
    })

    it('are refused as images with too many pixels, before they are unpacked', async () => {
      const error = await errorOf(() => resolve(asDataUri(pngBomb(60_000, 60_000))))

      expect(error).to.have.property('code', 'INVALID_ARGUMENT')
      expect(error).to.have.property('message').that.matches(/pixel/)
    })

    it('are given up when they come a byte at a time', async () => {
      const clock = new ManualClock()
      const arrived = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      answer = (_request, response) => {
        response.on('close', () => closed.resolve())
        response.writeHead(200, { 'content-type': 'text/plain' }).write('x')
        arrived.resolve()
      }

      const refused = errorOf(() => resolve(urlOf('open.test'), { network, clock }))
      await arrived.promise
      clock.advance(30_000)

      expect(await refused)
        .to.have.property('message')
        .that.includes('no answer within 30000 ms')
      await closed.promise
    })

    it('are refused with a charset that nobody knows', async () => {
      answer = (_request, response) =>
        response.writeHead(200, { 'content-type': 'text/plain; charset=klingon' }).end('a')

      const error = await errorOf(() => resolve(urlOf('open.test')))

      expect(error).to.have.property('message').that.includes('its charset klingon is not known')
    })

    const wrong: Readonly<
      Record<string, readonly [uri: () => string, why: string, expects?: MediaReference['expects']]>
    > = {
      'an image that is none': [
        () => asDataUri('<svg/>', 'image/png'),
        'it is declared as image/png, and is neither',
      ],
      'a PDF that is none': [
        () => asDataUri('hello', 'application/pdf'),
        'it is declared as application/pdf, and',
      ],
      'a program': [
        () => asDataUri(Buffer.from('7f454c46000000', 'hex')),
        'it is neither an image',
      ],
      nothing: [() => asDataUri(''), 'it is neither an image'],
      'a broken image': [
        () => asDataUri(Buffer.from('89504e470d0a1a0a00', 'hex')),
        'the image cannot be decoded',
      ],
      'a broken PDF': [
        () => asDataUri('%PDF-1.7 broken'),
        'the PDF cannot be read: Invalid PDF structure',
      ],
      'a text where a PDF must be': [
        () => asDataUri('hello'),
        'it must be a PDF, and is: text',
        'pdf',
      ],
      'a PDF where a text must be': [
        () => asDataUri('%PDF-1.7'),
        'it must be a page or a text, and is: pdf',
        'text',
      ],
    }
    for (const [what, [uri, why, expects]] of Object.entries(wrong)) {
      it(`are refused by name: ${what}`, async () => {
        const error = await errorOf(() => resolve(uri(), { network }, expects))

        expect(error).to.have.property('code', 'INVALID_ARGUMENT')
        expect(error).to.have.property('message').that.includes(why)
        expect(budget.heldBytes).to.equal(0)
      })
    }

    it('are read as text where a page makes the reader of articles too slow', async () => {
      const settings = { ...MEDIA_SETTINGS_DEFAULT, documentTimeoutMs: 1000 }
      await using media = openMedia({ settings, clock: systemClock, environment: env })
      using holding = media.budget.hold(new AbortController().signal)
      const page = `${'<div>'.repeat(200_000)}text`

      const content = await media.resolver.resolve(
        { url: asDataUri(page, 'text/html'), expects: 'text' },
        holding,
      )

      expect(content).to.deep.equal({ kind: 'text', text: 'text' })
      expect(media.budget.heldBytes).to.equal(4)
    })
  })
})
