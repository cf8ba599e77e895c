// Reads the media that documents, templates and queries name.
//
//   URL ──► bytes: data:, http(s):, file:, s3: ──► type, by the first bytes ──► text, or a data URI

import { unreachable } from '../../lib/assert.ts'
import type { Clock } from '../../lib/clock.ts'
import { isServiceError, ServiceError } from '../../lib/errors.ts'
import { isDataUri, parseDataUri } from '../../lib/media/data-uri.ts'
import type { NetworkView } from '../../lib/media/host-policy.ts'
import type { ImageType } from '../../lib/media/image-type.ts'
import { PassingFailure } from '../../lib/media/passing-failure.ts'
import { MediaDownloader } from '../../lib/media/media-downloader.ts'
import type { DownloadedBody } from '../../lib/media/media-downloader.ts'
import { runSliced } from '../../lib/sliced.ts'
import { scrubHtml } from '../template/scrub-html.ts'
import { dataUriOf } from './data-uri-of.ts'
import { decodeText } from './decode-text.ts'
import type { DocumentReader } from './document-reader.ts'
import { readMediaFile } from './file-source.ts'
import type { MediaHolding } from './media-budget.ts'
import { refuseMedium } from './media-error.ts'
import type { MediaSettings } from './media-settings.ts'
import { mediaTypeOf } from './media-type.ts'
import type { MediaType } from './media-type.ts'
import { s3Headers, s3TargetOf } from './s3-source.ts'

/** What a medium is for a model. */
export type MediaContent =
  | { readonly kind: 'text'; readonly text: string }
  | {
      readonly kind: 'image' | 'audio' | 'video'
      readonly mediaType: string
      readonly dataUri: string
    }

/** A medium, as a template names it. */
export interface MediaReference {
  readonly url: string
  /** What the URL must lead to; `text` is a page or a plain text. */
  readonly expects: 'any' | 'pdf' | 'text'
}

/** What reads media. */
export interface MediaResolverParts {
  readonly settings: MediaSettings
  readonly clock: Clock
  readonly documents: DocumentReader
  /** Absent: the system's resolver and the public addresses of the Internet. */
  readonly network?: NetworkView
}

const ACCEPT = 'image/*, application/pdf, text/html, text/plain, audio/*, video/*, */*;q=0.5'
const SHOWN_URL_LENGTH_MAX = 120
/** A page that is shorter without its frame than this is taken whole. */
const ARTICLE_LENGTH_MIN = 80
const unmetered = { spendOnText: () => false }

/**
 * Contract:
 * - `resolve` rejects with INVALID_ARGUMENT for what is refused or cannot be read; with UNAVAILABLE for what may be
 *   read later, because its host does not answer now; with OVERLOADED when memory or readers are short; with the signal's reason. The message names the URL,
 *   without its query and password.
 * - Bytes are charged to the holding as they arrive. What the result takes stays charged until the
 *   holding is disposed of.
 */
export class MediaResolver {
  readonly #parts: MediaResolverParts
  readonly #downloader: MediaDownloader
  /** For the configured S3 endpoint alone, which may have a private address. */
  readonly #trusted: MediaDownloader

  constructor(parts: MediaResolverParts) {
    const { settings, clock, network } = parts
    this.#parts = parts
    const shared = { clock, ...(network === undefined ? {} : { network }) }
    this.#downloader = new MediaDownloader({ ...shared, limits: settings })
    const limits = { ...settings, allowedHosts: [], blockPrivateIps: false }
    this.#trusted = new MediaDownloader({ ...shared, limits })
  }

  /** Reads one medium. `holding` is used for one medium after the other. */
  async resolve({ url, expects }: MediaReference, holding: MediaHolding): Promise<MediaContent> {
    const heldBefore = holding.bytes
    let keptBytes = 0
    try {
      const { bytes, contentType } = await this.#read(url, holding)
      const type = mediaTypeOf(bytes, contentType)
      checkExpected(type, expects)
      const content = await this.#contentOf(bytes, type, holding)
      const size = content.kind === 'text' ? content.text.length : content.dataUri.length
      await holding.add(size)
      keptBytes = size
      return content
    } catch (error) {
      holding.signal.throwIfAborted()
      if (!isServiceError(error)) throw error
      const message = `media ${shownUrl(url)}: ${error.message}`
      const code = error instanceof PassingFailure ? 'UNAVAILABLE' : error.code
      throw new ServiceError(code, message, { cause: error })
    } finally {
      holding.release(holding.bytes - heldBefore - keptBytes)
    }
  }

  #read(text: string, memory: MediaHolding): Promise<DownloadedBody> {
    if (isDataUri(text)) return this.#decodeDataUri(text, memory)
    const scheme = /^([a-z][a-z0-9+.-]*):/i.exec(text)?.[1]?.toLowerCase() ?? ''
    switch (scheme) {
      case 'http':
      case 'https':
        return this.#download(text, memory)
      case 'file':
        return this.#readFile(text, memory)
      case 's3':
        return this.#readS3(text, memory)
      default:
        throw refuseMedium('use a data URI, or a URL with http:, https:, file: or s3:')
    }
  }

  async #decodeDataUri(uri: string, memory: MediaHolding): Promise<DownloadedBody> {
    const { settings, clock } = this.#parts
    await memory.add(Math.min(uri.length, settings.downloadBytesMax))
    const work = parseDataUri(uri, settings.downloadBytesMax)
    const bytes = Buffer.from((await runSliced(work, { clock, signal: memory.signal })).buffer)
    return { bytes, contentType: /^data:([^,;]+)/i.exec(uri.slice(0, 100))?.[1] }
  }

  #download(url: string, memory: MediaHolding): Promise<DownloadedBody> {
    return this.#downloader.download(url, { signal: memory.signal, memory, accept: ACCEPT })
  }

  async #readFile(text: string, memory: MediaHolding): Promise<DownloadedBody> {
    const { allowedDirectories, downloadBytesMax: bytesMax } = this.#parts.settings
    const url = URL.parse(text)
    if (url === null) throw refuseMedium('it is not a URL')
    const { signal } = memory
    const bytes = await readMediaFile(url, { allowedDirectories, bytesMax, memory, signal })
    return { bytes, contentType: undefined }
  }

  async #readS3(text: string, memory: MediaHolding): Promise<DownloadedBody> {
    const { settings, clock } = this.#parts
    const { url, isConfigured } = s3TargetOf(text, settings.s3)
    if (settings.s3 === undefined || !isConfigured) return this.#download(url.href, memory)
    const headers = await s3Headers(url, settings.s3, clock.nowMs())
    const { signal } = memory
    return this.#trusted.download(url.href, { signal, memory, accept: '*/*', headers })
  }

  #contentOf(bytes: Buffer, type: MediaType, holding: MediaHolding): Promise<MediaContent> {
    switch (type.kind) {
      case 'image':
        return this.#image(bytes, type.type, holding)
      case 'audio':
      case 'video':
        return this.#medium(type.kind, { bytes, type: type.type }, holding)
      case 'pdf':
        return this.#pdf(bytes, holding)
      case 'html':
        return this.#html(bytes, type.charset, holding)
      case 'text':
        return this.#text(bytes, type.charset, holding)
      default:
        return unreachable(type)
    }
  }

  async #image(bytes: Buffer, type: ImageType, holding: MediaHolding): Promise<MediaContent> {
    const { imageEdgePixelsMax, imageUnpackedBytesMax, imageMemoryBytesMax } = this.#parts.settings
    const limits = { imageEdgePixelsMax, imageUnpackedBytesMax, imageMemoryBytesMax }
    const request = { kind: 'image', type, ...limits } as const
    const reading = await this.#parts.documents.read(bytes, request, holding.signal)
    if (reading.kind === 'fitting') return this.#medium('image', { bytes, type }, holding)
    if (reading.kind === 'image') {
      return this.#medium(
        'image',
        { bytes: Buffer.from(reading.bytes), type: reading.type },
        holding,
      )
    }
    throw refuseMedium(reading.kind === 'refused' ? reading.why : 'it is not an image')
  }

  async #medium(
    kind: 'image' | 'audio' | 'video',
    { bytes, type }: { readonly bytes: Buffer; readonly type: string },
    holding: MediaHolding,
  ): Promise<MediaContent> {
    const { mediumBytesMax } = this.#parts.settings
    if (bytes.length > mediumBytesMax) {
      throw refuseMedium(`it is larger than ${mediumBytesMax} bytes`)
    }
    const dataUri = await this.#run(dataUriOf(bytes, type), holding)
    return { kind, mediaType: type, dataUri }
  }

  async #pdf(bytes: Buffer, holding: MediaHolding): Promise<MediaContent> {
    const { textLengthMax, imageEdgePixelsMax } = this.#parts.settings
    const request = { kind: 'pdf', textLengthMax, imageEdgePixelsMax } as const
    const reading = await this.#parts.documents.read(bytes, request, holding.signal)
    if (reading.kind === 'text') return this.#textContent(reading.text)
    if (reading.kind === 'page') {
      return this.#medium('image', { bytes: Buffer.from(reading.png), type: 'image/png' }, holding)
    }
    const why = reading.kind === 'refused' ? reading.why : 'it is not a PDF'
    throw refuseMedium(`the PDF cannot be read: ${why}`)
  }

  /** The article, if the page has one that can be found; else all its text. */
  async #html(
    bytes: Buffer,
    charset: string | undefined,
    holding: MediaHolding,
  ): Promise<MediaContent> {
    const { textLengthMax, htmlBytesMax } = this.#parts.settings
    if (bytes.length > htmlBytesMax) {
      throw refuseMedium(`the page is larger than ${htmlBytesMax} bytes`)
    }
    const request = { kind: 'html', textLengthMax, charset } as const
    const reading = await this.#parts.documents.read(bytes, request, holding.signal)
    if (reading.kind === 'article') {
      const body = await this.#run(scrubHtml(reading.html, unmetered), holding)
      const text = [reading.title, body].filter((part) => part !== '').join('\n')
      if (body.length >= ARTICLE_LENGTH_MIN) return this.#textContent(text)
    }
    const html = await this.#run(decodeText(bytes, charset, htmlBytesMax), holding)
    return this.#textContent(await this.#run(scrubHtml(html, unmetered), holding))
  }

  async #text(
    bytes: Buffer,
    charset: string | undefined,
    holding: MediaHolding,
  ): Promise<MediaContent> {
    const work = decodeText(bytes, charset, this.#parts.settings.textLengthMax)
    return this.#textContent(await this.#run(work, holding))
  }

  #textContent(text: string): MediaContent {
    const { textLengthMax } = this.#parts.settings
    if (text.length <= textLengthMax) return { kind: 'text', text }
    throw refuseMedium(`its text has more than ${textLengthMax} characters`)
  }

  #run<Result>(work: Generator<undefined, Result, undefined>, { signal }: MediaHolding) {
    return runSliced(work, { clock: this.#parts.clock, signal })
  }
}

function checkExpected({ kind }: MediaType, expects: MediaReference['expects']): void {
  if (expects === 'pdf' && kind !== 'pdf') throw refuseMedium(`it must be a PDF, and is: ${kind}`)
  if (expects === 'text' && kind !== 'html' && kind !== 'text') {
    throw refuseMedium(`it must be a page or a text, and is: ${kind}`)
  }
}

/** Without query and password: both may hold secrets. */
function shownUrl(text: string): string {
  if (isDataUri(text)) return text.slice(0, 30).replace(/,.*$/s, ',…')
  const url = text.replace(/[?#].*$/s, '').replace(/\/\/[^/@]*@/, '//')
  return url.length <= SHOWN_URL_LENGTH_MAX ? url : `${url.slice(0, SHOWN_URL_LENGTH_MAX)}…`
}
