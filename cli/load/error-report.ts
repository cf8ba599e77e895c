// The report of documents that were not loaded. It can be loaded like any other file.
//
// Each line is `{"line":3,"key":"a","error":"…","code":"…","document":<the original bytes>}`, with
// its members in this order and without white space. A reader rebuilds the text before the document
// and takes the document's bytes without parsing them. An input that is not JSON is kept as
// `"text":"…"` instead of `document`, so that a person can repair it.

/** A document that was not loaded, with the reason and its code. */
export interface Rejection {
  readonly line: number
  readonly key: string | undefined
  readonly error: string
  readonly code: string
  readonly bytes: Buffer
  readonly isJson: boolean
}

/** A document from a report, with its key; undefined: the document had no key. */
export interface ReportedDocument {
  readonly key: string | undefined
  readonly bytes: Buffer
}

const HEAD_MEMBERS = 'line,key,error,code'
const MARK = '{"line":'

/** One line of a report, with its line feed. */
export function formatRejection(rejection: Rejection): Buffer {
  const { bytes, isJson } = rejection
  const payload = isJson ? bytes : Buffer.from(JSON.stringify(bytes.toString('utf8')))
  const head = `${headText(rejection)},"${isJson ? 'document' : 'text'}":`
  return Buffer.concat([Buffer.from(head), payload, Buffer.from('}\n')])
}

function headText({ line, key, error, code }: Omit<Rejection, 'bytes' | 'isJson'>): string {
  return JSON.stringify({ line, key: key ?? null, error, code }).slice(0, -1)
}

/** The document or the text of a report's line; undefined for any other line. */
export function parseReportLine(value: object, bytes: Buffer): ReportedDocument | undefined {
  if (!bytes.subarray(0, MARK.length).equals(Buffer.from(MARK)) || !isReportEntry(value)) {
    return undefined
  }
  const key = value.key ?? undefined
  const members = Object.keys(value).join(',')
  if (members === `${HEAD_MEMBERS},text` && typeof value.text === 'string') {
    return { key, bytes: Buffer.from(value.text) }
  }
  if (members !== `${HEAD_MEMBERS},document`) return undefined
  const head = Buffer.from(`${headText({ ...value, key })},"document":`)
  if (!bytes.subarray(0, head.length).equals(head)) return undefined
  return { key, bytes: bytes.subarray(head.length, bytes.length - 1) }
}

interface ReportEntry {
  readonly line: number
  readonly key: string | null
  readonly error: string
  readonly code: string
  readonly text?: unknown
}

function isReportEntry(value: object): value is ReportEntry {
  if (!('line' in value && 'key' in value && 'error' in value && 'code' in value)) return false
  const keyIsText = value.key === null || typeof value.key === 'string'
  const restIsText = typeof value.error === 'string' && typeof value.code === 'string'
  return Number.isInteger(value.line) && keyIsText && restIsText
}
