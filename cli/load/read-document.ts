// Parses a document that was cut out of the input, checks that it is a JSON object, and finds its key.

import { isUtf8 } from 'node:buffer'
import { isJsonRecord } from '../../lib/json-record.ts'
import type { SourceItem } from './document-source.ts'
import { parseEnvelope, type EnvelopedDocument } from './envelope.ts'
import { parseReportLine } from './error-report.ts'
import type { ReportedDocument } from './error-report.ts'
import { keyOf, keyOrProblem } from './key-rule.ts'
import type { KeyResult, KeyRule } from './key-rule.ts'
import type { RawDocument } from './raw-document.ts'

const NOT_UTF8 = 'it is not UTF-8: convert the file first, for instance with iconv'
const NOT_JSON = 'it is not JSON: each document must be one complete JSON object'
const NOT_OBJECT = 'it is not a JSON object: each document must be one, like {"id": 1}'

/** The item of a document; undefined for a blank line. Calls `onReported` for a line of an error report. */
export function readRawDocument(
  raw: RawDocument,
  keyRule: KeyRule,
  onReported: () => void,
): SourceItem | undefined {
  if (raw.problem !== undefined) return unreadable(raw, { problem: raw.problem, isJson: false })
  if (!isUtf8(raw.bytes)) return unreadable(raw, { problem: NOT_UTF8, isJson: false })
  const text = raw.bytes.toString('utf8')
  if (text.trim().length === 0) return undefined
  return readJson(raw, text, (document) => {
    const { value, bytes } = document
    const reported = parseReportLine(value, bytes)
    if (reported !== undefined) {
      onReported()
      return readReported(raw.line, reported, keyRule)
    }
    const enveloped = keyRule.isGiven ? undefined : parseEnvelope(value, bytes)
    if (enveloped === undefined) return withKey(raw.line, document, keyOf(keyRule, value, text))
    return readEnveloped(raw.line, enveloped)
  })
}

/** The document in an envelope. One that names members twice is not the document that was parsed. */
function readEnveloped(line: number, { key, bytes }: EnvelopedDocument): SourceItem {
  return readJson({ line, bytes }, bytes.toString('utf8'), (document) =>
    withKey(line, document, keyOrProblem(key)),
  )
}

/** The document in a line of an error report, with the key that it had. */
function readReported(
  line: number,
  { key, bytes }: ReportedDocument,
  keyRule: KeyRule,
): SourceItem {
  const text = bytes.toString('utf8')
  return readJson({ line, bytes }, text, (document) => {
    const found: KeyResult =
      key === undefined ? keyOf(keyRule, document.value, text) : { kind: 'key', key }
    return withKey(line, document, found)
  })
}

interface JsonDocument {
  readonly value: object
  /** The document's text on one line. */
  readonly bytes: Buffer
}

function readJson(
  raw: RawDocument,
  text: string,
  read: (document: JsonDocument) => SourceItem,
): SourceItem {
  const value = parseJson(text)
  if (value === undefined) return unreadable(raw, { problem: NOT_JSON, isJson: false })
  const bytes = onOneLine(raw.bytes, text)
  if (!isJsonRecord(value)) {
    return unreadable({ line: raw.line, bytes }, { problem: NOT_OBJECT, isJson: true })
  }
  return read({ value, bytes })
}

/** Reports hold a document on one line. JSON has line ends only between tokens, where spaces will do. */
function onOneLine(bytes: Buffer, text: string): Buffer {
  return /[\r\n]/.test(text) ? Buffer.from(text.trim().replaceAll(/[\r\n]+[ \t]*/g, ' ')) : bytes
}

function withKey(line: number, { bytes }: JsonDocument, found: KeyResult): SourceItem {
  if (found.kind === 'problem') {
    return unreadable({ line, bytes }, { problem: found.problem, isJson: true })
  }
  return { kind: 'document', document: { line, key: found.key, json: bytes } }
}

function unreadable(
  { line, bytes }: RawDocument,
  { problem, isJson }: { readonly problem: string; readonly isJson: boolean },
): SourceItem {
  return { kind: 'unreadable', unreadable: { line, key: undefined, text: bytes, isJson, problem } }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined // JSON has no undefined, so it can mean "not JSON"
  }
}
