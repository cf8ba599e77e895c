// The report of documents that were not loaded, which is itself something to load.
//
// Each line is `{"line":3,"key":"a","error":"…","code":"…","document":<the bytes as they came>}`,
// in this order and without white space: so a reader finds the document by rebuilding what stands
// before it, and takes its bytes without parsing them. A line that is no JSON is kept as
// `"text":"…"` instead of `document`, for a person to repair.

export interface Rejection {
  readonly line: number
  readonly key: string | undefined
  readonly error: string
  readonly code: string
  readonly bytes: Buffer
  readonly isJson: boolean
}

/** What a line of a report says: what to try again, and the key it had. */
export interface ReportedDocument {
  readonly key: string | undefined
  readonly bytes: Buffer
}

const HEAD_MEMBERS = 'line,key,error,code'
const MARK = '{"line":'

export function formatRejection(rejection: Rejection): Buffer {
  const { bytes, isJson } = rejection
  const payload = isJson ? bytes : Buffer.from(JSON.stringify(bytes.toString('utf8')))
  const head = `${headText(rejection)},"${isJson ? 'document' : 'text'}":`
  return Buffer.concat([Buffer.from(head), payload, Buffer.from('}\n')])
}

function headText({ line, key, error, code }: Omit<Rejection, 'bytes' | 'isJson'>): string {
  return JSON.stringify({ line, key: key ?? null, error, code }).slice(0, -1)
}

/** The document, or the text, in a line of a report; undefined for any other line. */
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
