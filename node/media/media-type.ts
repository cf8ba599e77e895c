// What a medium is. Its first bytes decide; the sender's word counts for texts alone, because a text may
// begin with anything.

import { sniffImageType } from '../../lib/media/image-type.ts'
import type { ImageType } from '../../lib/media/image-type.ts'
import { refuseMedium } from './media-error.ts'

export type MediaType =
  | { readonly kind: 'image'; readonly type: ImageType }
  | { readonly kind: 'audio' | 'video'; readonly type: string }
  | { readonly kind: 'pdf' }
  /** `charset` is what the sender says. */
  | { readonly kind: 'html' | 'text'; readonly charset: string | undefined }

/** A PDF may have other bytes before its header. */
const PDF_HEADER_WITHIN = 1024
/** Looked at to tell text from other bytes. */
const TEXT_LOOK_BYTES = 4096
const HTML_START = /^\s*<(?:!doctype html|html|head|body)\b/i
const TEXT_TYPES =
  /^(?:text\/|application\/(?:json|xml|yaml|x-ndjson|javascript)\b)|[+](?:json|xml)\b/
/** XML whose first element is a drawing. Its source says nothing of what a person sees. */
const SVG_START = /^\s*(?:<\?xml[^>]*>\s*)?(?:<!doctype svg[^>]*>\s*)?<svg[\s>]/i
const SVG_TYPE = /^image\/svg[+]xml\b/
const HTML_TYPES = /^(?:text\/html|application\/xhtml\+xml)\b/
const UNKNOWN_TYPES = /^(?:application|binary)\/octet-stream\b/
const CHARSET = /\bcharset\s*=\s*["']?([\w:.-]{1,40})/i

interface Signature {
  readonly at: number
  readonly bytes: string
  readonly kind: 'audio' | 'video'
  readonly type: string
}

/** https://mimesniff.spec.whatwg.org/#matching-an-audio-or-video-type-pattern, in latin1. */
const SIGNATURES: readonly Signature[] = [
  { at: 0, bytes: 'ID3', kind: 'audio', type: 'audio/mpeg' },
  { at: 0, bytes: '\xff\xfb', kind: 'audio', type: 'audio/mpeg' },
  { at: 0, bytes: 'fLaC', kind: 'audio', type: 'audio/flac' },
  { at: 0, bytes: 'OggS\0', kind: 'audio', type: 'audio/ogg' },
  { at: 8, bytes: 'WAVE', kind: 'audio', type: 'audio/wav' },
  { at: 8, bytes: 'AVI ', kind: 'video', type: 'video/x-msvideo' },
  { at: 4, bytes: 'ftypM4A', kind: 'audio', type: 'audio/mp4' },
  { at: 4, bytes: 'ftypqt', kind: 'video', type: 'video/quicktime' },
  { at: 4, bytes: 'ftyp', kind: 'video', type: 'video/mp4' },
  { at: 0, bytes: '\x1a\x45\xdf\xa3', kind: 'video', type: 'video/webm' },
]

/** Throws INVALID_ARGUMENT for bytes of a type that is not read. */
export function mediaTypeOf(bytes: Buffer, declared: string | undefined): MediaType {
  const image = sniffImageType(bytes)
  if (image !== undefined) return { kind: 'image', type: image }
  if (bytes.subarray(0, PDF_HEADER_WITHIN).includes('%PDF-')) return { kind: 'pdf' }
  const found = SIGNATURES.find(({ at, bytes: wanted }) => {
    return bytes.toString('latin1', at, at + wanted.length) === wanted
  })
  if (found !== undefined) return { kind: found.kind, type: found.type }
  return textTypeOf(bytes, declared?.toLowerCase())
}

function textTypeOf(bytes: Buffer, declared: string | undefined): MediaType {
  const isUnknown = declared === undefined || UNKNOWN_TYPES.test(declared)
  const isText = isUnknown ? isUtf8Text(bytes) : TEXT_TYPES.test(declared)
  if (!isText) {
    const named = isUnknown ? 'it' : `it is declared as ${declared.split(';')[0]}, and`
    throw refuseMedium(`${named} is neither an image, a sound, a film, a PDF, a page nor a text`)
  }
  const look = startOf(bytes)
  refuseDrawing(look, declared ?? '')
  const charset = CHARSET.exec(declared ?? '')?.[1]
  if (!isHtml(look, declared ?? '')) return { kind: 'text', charset }
  return { kind: 'html', charset: charset ?? CHARSET.exec(look)?.[1] }
}

function refuseDrawing(look: string, declared: string): void {
  const starts = !declared.startsWith('text/plain') && SVG_START.test(look)
  if (!starts && !SVG_TYPE.test(declared)) return
  throw refuseMedium('it is an SVG drawing, which is not drawn here; send it as PNG, JPEG or WebP')
}

/** Without a byte order mark and comments, which would hide the first element. */
function startOf(bytes: Buffer): string {
  const start = bytes.toString('latin1', 0, TEXT_LOOK_BYTES)
  return start.replace(/^\xef\xbb\xbf/, '').replaceAll(/<!--[\s\S]*?-->/g, '')
}

function isHtml(look: string, declared: string): boolean {
  return HTML_TYPES.test(declared) || (!declared.startsWith('text/plain') && HTML_START.test(look))
}

/** A cut in the middle of a character is not an error of the text. */
function isUtf8Text(bytes: Buffer): boolean {
  const look = bytes.subarray(0, TEXT_LOOK_BYTES)
  if (look.length === 0 || look.includes(0)) return false
  try {
    new TextDecoder('utf-8', { fatal: true }).decode(look, { stream: true })
    return true
  } catch {
    return false
  }
}
