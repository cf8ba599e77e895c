// The text of an HTML page, in one pass over it.
//
// Tags, comments and the contents of scripts and styles go; entities are decoded. A tag that only
// marks up text (`<b>`, `<a>`) leaves nothing behind, so it does not break a word; every other tag
// leaves a line break. A `<` that begins no tag is text, and a tag without its end goes up to the
// end of the page. No input makes it look at a character more than a constant number of times.

import { decodeEntity } from './html-entities.ts'

export interface PlainText {
  readonly text: string
  /** Where runs of the text came from; ascending. Between two of them offsets run in parallel. */
  readonly pieces: readonly { readonly plainAt: number; readonly sourceAt: number }[]
}

const INLINE: ReadonlySet<string> = new Set(
  (
    'a abbr acronym b bdi bdo big cite code del dfn em font i ins kbd mark q s samp small span ' +
    'strike strong sub sup tt u var wbr'
  ).split(' '),
)
const OPAQUE: ReadonlySet<string> = new Set(['script', 'style', 'template', 'noscript'])
const TAG_NAME = /\/?([a-z][a-z0-9:-]*)/iy
const ENTITY = /&(#\d{1,7}|#x[0-9a-f]{1,6}|[a-z][a-z0-9]{1,15});?/iy

interface Builder {
  text: string
  readonly pieces: { readonly plainAt: number; readonly sourceAt: number }[]
}

export function stripHtml(html: string): PlainText {
  const out: Builder = { text: '', pieces: [] }
  let at = 0
  while (at < html.length) {
    const next = nextMarkup(html, at)
    if (next > at) append(out, html.slice(at, next), at)
    if (next === html.length) break
    at = html[next] === '&' ? addEntity(html, next, out) : addTag(html, next, out)
  }
  return out
}

function nextMarkup(html: string, from: number): number {
  for (let at = from; at < html.length; at += 1) {
    const code = html.charCodeAt(at)
    if (code === 0x3c || code === 0x26) return at
  }
  return html.length
}

function append(out: Builder, text: string, sourceAt: number): void {
  out.pieces.push({ plainAt: out.text.length, sourceAt })
  out.text += text
}

/** Returns where the source goes on. */
function addEntity(html: string, at: number, out: Builder): number {
  ENTITY.lastIndex = at
  const match = ENTITY.exec(html)
  const decoded = match === null ? undefined : decodeEntity(match[1] ?? '')
  append(out, decoded ?? '&', at)
  return at + (decoded === undefined ? 1 : (match?.[0].length ?? 1))
}

/** Returns where the source goes on. */
function addTag(html: string, at: number, out: Builder): number {
  if (html.startsWith('<!--', at)) return behind(html, '-->', at + 4)
  if (html.startsWith('<![CDATA[', at)) return addCharacterData(html, at + 9, out)
  if (html[at + 1] === '!' || html[at + 1] === '?') return behind(html, '>', at)
  TAG_NAME.lastIndex = at + 1
  const name = TAG_NAME.exec(html)?.[1]?.toLowerCase()
  if (name === undefined) {
    append(out, '<', at)
    return at + 1
  }
  if (!INLINE.has(name)) append(out, '\n', at)
  const end = behindTag(html, at)
  const isOpen = html[at + 1] !== '/' && html[end - 2] !== '/'
  return isOpen && OPAQUE.has(name) ? endOfOpaque(html, name, end) : end
}

function addCharacterData(html: string, from: number, out: Builder): number {
  const end = html.indexOf(']]>', from)
  append(out, html.slice(from, end < 0 ? html.length : end), from)
  return end < 0 ? html.length : end + 3
}

/** A `>` inside a quoted attribute does not end the tag. */
function behindTag(html: string, from: number): number {
  let quote = ''
  for (let at = from; at < html.length; at += 1) {
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

/** The contents of a script are skipped; its closing tag is read as a tag. */
function endOfOpaque(html: string, name: string, from: number): number {
  for (let at = html.indexOf('</', from); at >= 0; at = html.indexOf('</', at + 2)) {
    const found = html.slice(at + 2, at + 2 + name.length)
    if (found.toLowerCase() === name) return at
  }
  return html.length
}

function behind(html: string, mark: string, from: number): number {
  const at = html.indexOf(mark, from)
  return at < 0 ? html.length : at + mark.length
}
