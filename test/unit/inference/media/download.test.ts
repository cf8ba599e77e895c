import { once } from 'node:events'
import type { IncomingMessage, Server, ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { TLSSocket } from 'node:tls'
import { gzipSync } from 'node:zlib'
import { expect } from 'chai'
import { ManualClock, systemClock } from '../../../../lib/clock.ts'
import type { Clock } from '../../../../lib/clock.ts'
import { isServiceError } from '../../../../lib/errors.ts'
import { RequestMemory } from '../../../../lib/http/request-memory.ts'
import type { HeldMemory } from '../../../../lib/http/request-memory.ts'
import type { DownloaderParts } from '../../../../lib/media/media-downloader.ts'
import { MEDIA_LIMITS_DEFAULT } from '../../../../inference/media/media-limits.ts'
import type { MediaLimits } from '../../../../inference/media/media-limits.ts'
import { MediaReader } from '../../../../inference/media/media-reader.ts'
import type { ImageContent, ReadOptions } from '../../../../inference/media/media-reader.ts'
import { isPublicAddress } from '../../../../lib/media/public-address.ts'
import { close, listen, portOf } from '../../../support/servers/local-server.ts'
import { TEST_CERTIFICATE, TEST_CERTIFICATE_KEY } from '../../../support/servers/tls-certificate.ts'

const PNG = Buffer.from('89504e470d0a1a0a0000', 'hex')

/** 127.0.0.1 stands for the Internet, 127.0.0.2 for what only this machine reaches. */
describe('media downloads', () => {
  let open: Server
  let inner: Server
  let hits: string[]
  let innerHits: number
  let answer: (request: IncomingMessage, response: ServerResponse) => void

  beforeEach(async () => {
    hits = []
    innerHits = 0
    answer = (_request, response) => response.end(PNG)
    open = await listen('127.0.0.1', (request, response) => {
      hits.push(`${request.headers.host} ${request.url}`)
      answer(request, response)
    })
    inner = await listen('127.0.0.2', (_request, response) => {
      innerHits += 1
      response.end(PNG)
    })
  })

  afterEach(async () => {
    await Promise.all([close(open), close(inner)])
  })

  const hosts: Record<string, readonly string[]> = {
    'images.test': ['127.0.0.1'],
    'more.images.test': ['127.0.0.1'],
    'inner.test': ['127.0.0.2'],
    'mixed.test': ['127.0.0.1', '127.0.0.2'],
    'mapped.test': ['::ffff:127.0.0.1'],
    'nothing.test': [],
  }
  let resolved: string[]

  function reader(limits: Partial<MediaLimits> = {}, clock: Clock = systemClock): MediaReader {
    resolved = []
    return new MediaReader({
      limits: { ...MEDIA_LIMITS_DEFAULT, ...limits },
      clock,
      network: {
        resolve: async (host) => {
          resolved.push(host)
          const addresses = hosts[host]
          if (addresses === undefined) throw new Error('not found')
          return addresses
        },
        isPublic: (address) => address === '127.0.0.1' || isPublicAddress(address),
      },
    })
  }
  const urlOf = (host: string, path = '/a.png', server = open) =>
    `http://${host}:${portOf(server)}${path}`

  it('charge their bytes to the request, and end where its budget ends', async () => {
    answer = (_request, response) => response.end(Buffer.concat([PNG, Buffer.alloc(200_000)]))
    const [roomy, narrow] = [memoryOf(1_000_000), memoryOf(100_000)]

    await reader().readImage(urlOf('images.test'), { ...quiet(), memory: roomy })
    const error = await failure(
      reader().readImage(urlOf('images.test'), { ...quiet(), memory: narrow }),
    )

    expect(roomy.bytes).to.equal(PNG.length + 200_000)
    expect(error.code).to.equal('OVERLOADED')
  })

  it('charge data URIs, too', async () => {
    const url = `data:image/png;base64,${PNG.toString('base64')}`
    const memory = memoryOf(PNG.length)

    const error = await failure(reader().readImage(url, { ...quiet(), memory }))

    expect(error.code).to.equal('OVERLOADED')
  })

  it('fetch the bytes from the resolved address, and resolve once', async () => {
    const image = await reader().readImage(urlOf('images.test', '/a.png?size=2'), quiet())

    expect(image).to.deep.equal({ type: 'image/png', bytes: PNG })
    expect(hits).to.deep.equal([`images.test:${portOf(open)} /a.png?size=2`])
    expect(resolved).to.deep.equal(['images.test'])
  })

  it('connect to the checked address, whatever the name resolves to later', async () => {
    const answers = [['127.0.0.1'], ['127.0.0.2']]
    const rebinding = new MediaReader({
      limits: MEDIA_LIMITS_DEFAULT,
      clock: systemClock,
      network: {
        resolve: async () => answers.shift() ?? ['127.0.0.2'],
        isPublic: (address) => address === '127.0.0.1',
      },
    })

    await rebinding.readImage(urlOf('rebinding.test'), quiet())

    expect(hits).to.have.length(1)
    expect(innerHits).to.equal(0)
  })

  const refusals: Readonly<Record<string, [url: () => string, why: string]>> = {
    'a private address': [() => urlOf('inner.test', '/', inner), 'does not have a public address'],
    'a private address among public ones': [() => urlOf('mixed.test'), 'does not have a public'],
    'a mapped address': [() => urlOf('mapped.test'), 'does not have a public address'],
    'a host without address': [() => urlOf('nothing.test'), 'cannot be resolved'],
    'a host that is not there': [() => urlOf('absent.test'), 'cannot be resolved'],
    'a private address as such': [() => urlOf('127.0.0.2', '/', inner), 'public address'],
    'a private address as a number': [() => urlOf('2130706434', '/', inner), 'public address'],
    'a private address in octal': [() => urlOf('0177.0.0.2', '/', inner), 'public address'],
    'IPv6 loopback': [() => 'http://[::1]:9/', 'host ::1 does not have a public address'],
    'mapped IPv6': [() => 'http://[::ffff:127.0.0.2]:9/', 'does not have a public address'],
    'file:': [() => 'file:///etc/passwd', 'file: is not read'],
    's3:': [() => 's3://bucket/key', 's3: is not read'],
    'ftp:': [() => 'ftp://images.test/a', 'ftp: is not read'],
    'a password': [() => 'http://me:secret@images.test/', 'must not carry a password'],
    'no URL': [() => 'images.test/a.png', 'neither a data URI nor a URL'],
  }
  for (const [what, [url, why]] of Object.entries(refusals)) {
    it(`refuse ${what}`, async () => {
      const error = await failure(reader().readImage(url(), quiet()))

      expect(error.code).to.equal('INVALID_ARGUMENT')
      expect(error.message).to.include(why)
      expect([hits.length, innerHits]).to.deep.equal([0, 0])
    })
  }

  it('reach private addresses where the operator allows them', async () => {
    const image = await reader({ blockPrivateIps: false }).readImage(
      urlOf('inner.test', '/', inner),
      quiet(),
    )

    expect(image.type).to.equal('image/png')
  })

  it('keep to the allowed hosts', async () => {
    const some = reader({ allowedHosts: ['Other.test', '*.images.test'] })

    expect((await some.readImage(urlOf('more.images.test'), quiet())).type).to.equal('image/png')
    const error = await failure(some.readImage(urlOf('images.test'), quiet()))
    expect(error.message).to.include('not among the allowed hosts')
  })

  it('follow redirects, also relative ones', async () => {
    answer = (request, response) => {
      if (request.url === '/a.png') response.writeHead(302, { location: '../b.png' }).end()
      else if (request.url === '/b.png') redirect(response, urlOf('more.images.test', '/c.png'))
      else response.end(PNG)
    }

    await reader().readImage(urlOf('images.test'), quiet())

    expect(hits.map((hit) => hit.split(' ')[1])).to.deep.equal(['/a.png', '/b.png', '/c.png'])
    expect(resolved).to.deep.equal(['images.test', 'images.test', 'more.images.test'])
  })

  const innerRedirects: Readonly<Record<string, [location: () => string, why: string]>> = {
    'a private name': [() => urlOf('inner.test', '/', inner), 'does not have a public address'],
    'a private address': [() => urlOf('127.0.0.2', '/', inner), 'does not have a public address'],
    'another scheme': [() => 'file:///etc/passwd', 'file: is not read'],
    'a host that is not allowed': [() => urlOf('mixed.test'), 'not among the allowed hosts'],
  }
  for (const [what, [location, why]] of Object.entries(innerRedirects)) {
    it(`refuse a redirect to ${what}, at the end of a chain`, async () => {
      answer = (request, response) =>
        redirect(response, request.url === '/a.png' ? '/second.png' : location())

      const allowedHosts = ['images.test', 'inner.test', '127.0.0.2']
      const error = await failure(reader({ allowedHosts }).readImage(urlOf('images.test'), quiet()))

      expect(error.message).to.include(why)
      expect([hits.length, innerHits]).to.deep.equal([2, 0])
    })
  }

  it('refuse the sixth redirect', async () => {
    answer = (request, response) => redirect(response, `${request.url}x`)

    const error = await failure(reader().readImage(urlOf('images.test'), quiet()))

    expect(error.message).to.include('more than 5 redirects')
    expect(hits).to.have.length(6)
  })

  for (const [status, headers] of [
    [404, {}],
    [204, {}],
    [206, {}],
    [302, {}],
  ] as const) {
    it(`refuse status ${status} without a body or a place to go`, async () => {
      answer = (_request, response) => response.writeHead(status, headers).end()

      const error = await failure(reader().readImage(urlOf('images.test'), quiet()))

      expect(error.message).to.include(status === 302 ? 'redirects to nowhere' : `status ${status}`)
    })
  }

  it('refuse a body that says it is too large, before reading it', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '1001' }).write(PNG)
    }

    const error = await failure(
      reader({ downloadBytesMax: 1000 }).readImage(urlOf('images.test'), quiet()),
    )

    expect(error.message).to.include('larger than 1000 bytes')
  })

  it('stop an endless body at the limit', async () => {
    let sent = 0
    const closed = Promise.withResolvers<void>()
    answer = (_request, response) => {
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(10_000, 1))) sent += 10_000
      }
      response.on('drain', more).on('close', () => closed.resolve())
      more()
    }

    const error = await failure(
      reader({ downloadBytesMax: 200_000 }).readImage(urlOf('images.test'), quiet()),
    )
    await closed.promise

    expect(error.message).to.include('larger than 200000 bytes')
    expect(sent).to.be.lessThan(50_000_000)
  })

  const slow: Readonly<Record<string, (response: ServerResponse) => void>> = {
    'a host that does not answer': () => {},
    'a body that does not end': (response) => response.writeHead(200).write(PNG),
  }
  for (const [what, stall] of Object.entries(slow)) {
    it(`give up on ${what} after the time limit, and hang up`, async () => {
      const clock = new ManualClock()
      const arrived = Promise.withResolvers<void>()
      const closed = Promise.withResolvers<void>()
      answer = (_request, response) => {
        response.on('close', () => closed.resolve())
        stall(response)
        arrived.resolve()
      }

      const failed = failure(reader({}, clock).readImage(urlOf('images.test'), quiet()))
      await arrived.promise
      clock.advance(30_000)

      expect((await failed).message).to.include('no answer within 30000 ms')
      await closed.promise
    })

    it(`stop waiting for ${what} when the caller aborts`, async () => {
      const stop = new AbortController()
      const closed = Promise.withResolvers<void>()
      answer = (_request, response) => {
        response.on('close', () => closed.resolve())
        stall(response)
        stop.abort(new Error('the client has gone'))
      }

      const why: unknown = await reader()
        .readImage(urlOf('images.test'), { ...quiet(), signal: stop.signal })
        .catch((error: unknown) => error)

      expect(why).to.equal(stop.signal.reason)
      await closed.promise
    })
  }

  it('give up on a resolver that does not answer', async () => {
    const clock = new ManualClock()
    const asked = Promise.withResolvers<void>()
    const stuck = new MediaReader({
      limits: MEDIA_LIMITS_DEFAULT,
      clock,
      network: {
        resolve: () => {
          asked.resolve()
          return new Promise(() => {})
        },
        isPublic: () => true,
      },
    })

    const failed = failure(stuck.readImage('http://images.test/', quiet()))
    await asked.promise
    clock.advance(30_000)

    expect((await failed).message).to.include('no answer within 30000 ms')
  })

  it('name the reason when the connection breaks within the body', async () => {
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' })
      response.write(PNG, () => response.destroy())
    }

    const error = await failure(reader().readImage(urlOf('images.test'), quiet()))

    expect(error.message).to.include('the download failed (ECONNRESET)')
  })

  it('refuse a body that is compressed though the request forbids it', async () => {
    answer = (_request, response) =>
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(gzipSync(Buffer.alloc(1_000_000)))

    const error = await failure(reader().readImage(urlOf('images.test'), quiet()))

    expect(error.message).to.include('the host sends gzip, which was not asked for')
  })

  it("detect the format by the bytes and not by the host's content type", async () => {
    answer = (request, response) => {
      const isImage = request.url === '/a.png'
      response.setHeader('content-type', isImage ? 'text/html' : 'image/png')
      response.end(isImage ? PNG : '<svg xmlns="http://www.w3.org/2000/svg"/>')
    }

    expect((await reader().readImage(urlOf('images.test'), quiet())).type).to.equal('image/png')
    const error = await failure(reader().readImage(urlOf('images.test', '/b.svg'), quiet()))
    expect(error.message).to.include('not an image of type PNG, JPEG, WebP or GIF')
  })
})

const OWN_AUTHORITY = { certificateAuthorities: TEST_CERTIFICATE }

/** The certificate is for the name images.test and for the address that every host has here. */
describe('media downloads over TLS', () => {
  let server: Server
  let names: unknown[]

  beforeEach(async () => {
    names = []
    const credentials = { cert: TEST_CERTIFICATE, key: TEST_CERTIFICATE_KEY }
    server = createTlsServer(credentials, ({ socket }, response) => {
      names.push(socket instanceof TLSSocket ? socket.servername : 'no TLS')
      response.end(PNG)
    })
    server.listen(0, '127.0.0.1')
    await once(server, 'listening')
  })

  afterEach(() => close(server))

  function readImage(
    host: string,
    trusted: Pick<DownloaderParts, 'certificateAuthorities'> = OWN_AUTHORITY,
  ): Promise<ImageContent> {
    const reader = new MediaReader({
      limits: MEDIA_LIMITS_DEFAULT,
      clock: systemClock,
      network: { resolve: async () => ['127.0.0.1'], isPublic: () => true },
      ...trusted,
    })
    return reader.readImage(`https://${host}:${portOf(server)}/a.png`, quiet())
  }

  it("send the server the host's name, and accept a certificate of that name", async () => {
    expect(await readImage('images.test')).to.deep.equal({ type: 'image/png', bytes: PNG })
    expect(names).to.deep.equal(['images.test'])
  })

  it('accept the certificate of an address where the URL has an address', async () => {
    expect(await readImage('127.0.0.1')).to.deep.equal({ type: 'image/png', bytes: PNG })
  })

  it('refuse a certificate of another name, even if it names the address', async () => {
    const error = await failure(readImage('other.test'))

    expect(error.code).to.equal('INVALID_ARGUMENT')
    expect(error.message).to.equal(
      "image_url: the host's certificate is not for this name (ERR_TLS_CERT_ALTNAME_INVALID)",
    )
    expect(names).to.deep.equal([])
  })

  it('refuse a certificate that is not from a trusted authority', async () => {
    const error = await failure(readImage('images.test', {}))

    expect(error.code).to.equal('INVALID_ARGUMENT')
    expect(error.message).to.include('not from a trusted authority')
    expect(names).to.deep.equal([])
  })

  it('refuse a host that does not speak TLS', async () => {
    await close(server)
    server = await listen('127.0.0.1', (_request, response) => response.end(PNG))

    const error = await failure(readImage('images.test'))

    expect(error.code).to.equal('INVALID_ARGUMENT')
    expect(error.message).to.include('the download failed')
  })
})

describe('data URIs', () => {
  const base64 = PNG.toString('base64')

  it('give the bytes of an image, whatever type they name', async () => {
    for (const head of ['image/png', 'IMAGE/PNG;charset=x', 'text/html', '']) {
      expect(await read(`data:${head};base64,${base64}`)).to.deep.equal({
        type: 'image/png',
        bytes: PNG,
      })
    }
  })

  const bad: Readonly<Record<string, [uri: string, why: string]>> = {
    'no comma': ['data:image/png;base64', 'must have the form'],
    'no base64': ['data:image/png,hello', 'must have the form'],
    'a character that is not base64': [`data:image/png;base64,iVBO*w0K`, 'is not base64'],
    'a digit too much': ['data:image/png;base64,iVBOR', 'is not base64'],
    'nothing in it': ['data:image/png;base64,', 'not an image'],
    'a program': [`data:image/png;base64,${btoa('#!/bin/sh')}`, 'not an image'],
    'too much in it': [`data:;base64,${'A'.repeat(1336)}`, 'larger than 1000 bytes'],
    'far too much in it': [`data:;base64,${'A'.repeat(100_000)}`, 'larger than 1000 bytes'],
  }
  for (const [what, [uri, why]] of Object.entries(bad)) {
    it(`are refused with ${what}`, async () => {
      const error = await failure(read(uri))

      expect(error.code).to.equal('INVALID_ARGUMENT')
      expect(error.message).to.include(why)
    })
  }
})

function read(url: string, downloadBytesMax = 1000): Promise<ImageContent> {
  const limits = { ...MEDIA_LIMITS_DEFAULT, downloadBytesMax }
  return new MediaReader({ limits, clock: systemClock }).readImage(url, quiet())
}

function quiet(): ReadOptions {
  return { signal: new AbortController().signal, memory: memoryOf(1_000_000_000) }
}

function memoryOf(bytesMax: number): HeldMemory {
  return new RequestMemory({ bytesMax, clock: systemClock }).hold()
}

function redirect(response: ServerResponse, location: string): void {
  response.writeHead(307, { location }).end()
}

async function failure(work: Promise<unknown>): Promise<{ code: string; message: string }> {
  const error: unknown = await work.then(
    () => 'it succeeded',
    (reason: unknown) => reason,
  )
  if (isServiceError(error)) return error
  throw error instanceof Error ? error : new Error(String(error))
}
