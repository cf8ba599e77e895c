// Lines of `quarry scan --envelope`: `{"_key":"a","_document":<the document as it was stored>}`.

import { isJsonRecord } from '../../lib/json-record.ts'

/** A document with the key that its envelope names. */
export interface EnvelopedDocument {
  readonly key: string
  readonly bytes: Buffer
}

const MEMBERS = '_key,_document'
/** All before the document, with the white space and the escapes that other programs may write. */
const HEAD = /^\s*\{\s*"_key"\s*:\s*"(?:[^"\\]|\\.)*"\s*,\s*"_document"\s*:\s*/

/** The document of an envelope, whose JSON is `bytes`; undefined for any other object. Its digits stay as they are. */
export function parseEnvelope(value: object, bytes: Buffer): EnvelopedDocument | undefined {
  if (Object.keys(value).join(',') !== MEMBERS) return undefined
  const { _key: key, _document: document }: { _key?: unknown; _document?: unknown } = value
  if (typeof key !== 'string' || !isJsonRecord(document)) return undefined
  const text = bytes.toString('utf8')
  const head = HEAD.exec(text)?.[0]
  if (head === undefined) return undefined
  return { key, bytes: Buffer.from(text.slice(head.length, text.lastIndexOf('}'))) }
}
