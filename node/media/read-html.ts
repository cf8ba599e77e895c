// Finds the part of a page that is for readers, within the reader's process.

import { Readability } from '@mozilla/readability'
import { DOMParser } from 'linkedom'
import { decoderOf } from './decode-text.ts'
import type { DocumentJob, DocumentReading } from './document-protocol.ts'

type HtmlJob = Extract<DocumentJob, { kind: 'html' }>

const ELEMENTS_MAX = 100_000
const HTML_ELEMENT = /<html[\s>]/i

/** The article of a page, as HTML; refused for a page that has none. */
export function readHtml(bytes: Buffer, { charset }: HtmlJob): DocumentReading {
  const source = decoderOf(bytes, charset).decode(bytes)
  // Without this element the parser would take the first one of the page for the whole page.
  const html = HTML_ELEMENT.test(source) ? source : `<html><body>${source}</body></html>`
  const document = new DOMParser().parseFromString(html, 'text/html')
  const article = new Readability(document, { maxElemsToParse: ELEMENTS_MAX }).parse()
  const content = article?.content ?? ''
  if (content === '') return { kind: 'refused', why: 'the page has no article' }
  return { kind: 'article', title: article?.title ?? '', html: content }
}
