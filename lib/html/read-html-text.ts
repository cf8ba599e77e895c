// Reads the text of an HTML page in one pass: what a text index takes of a page, and what a model is shown.
//
// Tags, comments and the contents of scripts and styles are dropped; entities are decoded. A tag
// that only marks up text (`<b>`, `<a>`) leaves nothing, so it does not break a word. Every other
// tag ends the line. A `<` that begins no tag is text. A tag without an end extends to the
// end of the page. For any input, each character is read a constant number of times at most.

import { StepMeter, type Sliced } from '../sliced.ts'
import { decodeEntity } from './html-entities.ts'

/** Reading this much of a page takes about a millisecond, in UTF-16 units. */
const STEP_LENGTH = 16_384
/** What a tag or an entity costs, in units of plain text. */
const MARKUP_COST = 16

/** Hears of a page's text, in its order. */
export interface HtmlTextSink {
  /**
   * `text` stands in the source from `sourceAt`. `entityLength` is the length of the source if the text is the value
   * of one entity, else 0; without one, text and source have the same length.
   */
  append(text: string, sourceAt: number, entityLength: number): void
  /** A tag that ends the line: the tag of any element that does not only mark up text. */
  endLine(element: string, sourceAt: number): void
}

const INLINE: ReadonlySet<string> = new Set(
  (
    'a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span ' +
    'strike strong sub sup tt u var wbr'
  ).split(' '),
)
const OPAQUE: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript'])
const TAG_NAME = /\/?([a-z][a-z0-9:-]{0,63})/iy
const ENTITY = /&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,30});?/iy

/** Reads a page in steps. */
export function* readHtmlText(html: string, sink: HtmlTextSink): Sliced<void> {
  const meter = new StepMeter(STEP_LENGTH)
  let at = 0
  while (at < html.length) {
    const from = at
    at = nextMarkup(html, from)
    if (at > from) sink.append(html.slice(from, at), from, 0)
    else if (html[at] === '&') at = addEntity(html, at, sink)
    else at = yield* addTag(html, at, sink)
    if (meter.spend(Math.min(at - from, STEP_LENGTH) + MARKUP_COST)) yield
  }
}

/** The offset of the next markup, or the end of the step. */
function nextMarkup(html: string, from: number): number {
  const end = Math.min(html.length, from + STEP_LENGTH)
  for (let at = from; at < end; at += 1) {
    const code = html.charCodeAt(at)
    if (code === 0x3c || code === 0x26) return at
  }
  return end
}

/** Answers the offset where the source continues. */
function addEntity(html: string, at: number, sink: HtmlTextSink): number {
  ENTITY.lastIndex = at
  const [source = '', body = ''] = ENTITY.exec(html) ?? []
  const decoded = decodeEntity(body)
  if (decoded === undefined) sink.append('&', at, 0)
  else sink.append(decoded, at, source.length)
  return at + (decoded === undefined ? 1 : source.length)
}

/** Answers the offset where the source continues. */
function* addTag(html: string, at: number, sink: HtmlTextSink): Sliced<number> {
  if (html.startsWith('<!--', at)) return behind(html, '-->', at + 4)
  if (html.startsWith('<![CDATA[', at)) return addCharacterData(html, at + 9, sink)
  if (html[at + 1] === '!' || html[at + 1] === '?') return behind(html, '>', at)
  TAG_NAME.lastIndex = at + 1
  const name = TAG_NAME.exec(html)?.[1]?.toLowerCase()
  if (name === undefined) {
    sink.append('<', at, 0)
    return at + 1
  }
  if (!INLINE.has(name)) sink.endLine(name, at)
  const end = yield* behindTag(html, at)
  const isOpen = html[at + 1] !== '/' && html[end - 2] !== '/'
  return isOpen && OPAQUE.has(name) ? yield* endOfOpaque(html, name, end) : end
}

function addCharacterData(html: string, from: number, sink: HtmlTextSink): number {
  const end = html.indexOf(']]>', from)
  sink.append(html.slice(from, end < 0 ? html.length : end), from, 0)
  return end < 0 ? html.length : end + 3
}

/** Answers the offset behind a tag. A `>` in a quoted attribute does not end the tag. */
function* behindTag(html: string, from: number): Sliced<number> {
  let quote = ''
  for (let at = from; at < html.length; at += 1) {
    if ((at - from) % STEP_LENGTH === STEP_LENGTH - 1) yield
    const character = html[at] ?? ''
    if (quote !== '') {
      if (character === quote) quote = ''
    } else if (character === '>') {
      return at + 1
    } else if ((character === '"' || character === "'") && html[at - 1] === '=') {
      quote = character
    }
  }
  return html.length
}

/** Skips the contents of a script. Its closing tag is read as a tag. */
function* endOfOpaque(html: string, name: string, from: number): Sliced<number> {
  const meter = new StepMeter(STEP_LENGTH)
  for (let at = html.indexOf('</', from); at >= 0; at = html.indexOf('</', at + 2)) {
    const found = html.slice(at + 2, at + 2 + name.length)
    if (found.toLowerCase() === name) return at
    if (meter.spend(MARKUP_COST)) yield
  }
  return html.length
}

function behind(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from)
  return at < 0 ? html.length : at + mark.length
}
