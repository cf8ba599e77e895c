// Reads PDFs, within the reader's process. No other file imports pdfjs-dist.

import { createRequire } from 'node:module'
import path from 'node:path'
import type { PDFDocumentProxy } from 'pdfjs-dist'
import type { DocumentJob, DocumentReading } from './document-protocol.ts'

type PdfJob = Extract<DocumentJob, { kind: 'pdf' }>

const PAGES_MAX = 2000
/** A page is drawn at twice its size, if that is not too large: small print stays readable. */
const SCALE_MAX = 2

/** The text of all pages; the first page as an image if they have none. */
export async function readPdf(data: Uint8Array, job: PdfJob): Promise<DocumentReading> {
  const { getDocument } = await import('pdfjs-dist/legacy/build/pdf.mjs')
  const root = path.dirname(createRequire(import.meta.url).resolve('pdfjs-dist/package.json'))
  const task = getDocument({
    data,
    verbosity: 0,
    disableFontFace: true,
    useSystemFonts: false,
    useWorkerFetch: false,
    enableXfa: false,
    cMapUrl: `${path.join(root, 'cmaps')}/`,
    cMapPacked: true,
    standardFontDataUrl: `${path.join(root, 'standard_fonts')}/`,
    wasmUrl: `${path.join(root, 'wasm')}/`,
  })
  try {
    const document = await task.promise
    const text = await textOf(document, job.textLengthMax)
    if (text === undefined) return refused(`its text has more than ${job.textLengthMax} characters`)
    return text === '' ? await firstPage(document, job.imageEdgePixelsMax) : { kind: 'text', text }
  } finally {
    await task.destroy()
  }
}

/** Undefined for a text that is too long. */
async function textOf(document: PDFDocumentProxy, lengthMax: number): Promise<string | undefined> {
  const pages: string[] = []
  let length = 0
  for (let number = 1; number <= Math.min(document.numPages, PAGES_MAX); number += 1) {
    const page = await document.getPage(number)
    const { items } = await page.getTextContent()
    const lines = items.map((item) => ('str' in item ? item.str + (item.hasEOL ? '\n' : '') : ''))
    const text = lines.join('').trim()
    page.cleanup()
    length += text.length + 1
    if (length > lengthMax) return undefined
    if (text !== '') pages.push(text)
  }
  return pages.join('\n')
}

async function firstPage(document: PDFDocumentProxy, edgeMax: number): Promise<DocumentReading> {
  const { createCanvas } = await import('@napi-rs/canvas')
  const page = await document.getPage(1)
  const { width, height } = page.getViewport({ scale: 1 })
  const scale = Math.min(SCALE_MAX, edgeMax / Math.max(width, height))
  const viewport = page.getViewport({ scale })
  const canvas = createCanvas(Math.ceil(viewport.width), Math.ceil(viewport.height))
  await page.render({ canvas, viewport, background: 'white' }).promise
  return { kind: 'page', png: await canvas.encode('png') }
}

function refused(why: string): DocumentReading {
  return { kind: 'refused', why }
}
