// PostgreSQL's protocol 3.0, as much as an upsert by a prepared statement needs.
// https://www.postgresql.org/docs/15/protocol-message-formats.html

const PROTOCOL = 196_608
export const POSTGRES_USER = 'quarry'
export const POSTGRES_TABLE = 'documents'
const STATEMENT = 'upsert'
const UPSERT =
  `INSERT INTO ${POSTGRES_TABLE} (key, document) VALUES ($1, $2) ` +
  'ON CONFLICT (key) DO UPDATE SET document = excluded.document'

/** Begins a session and prepares the statement. The answers end with two "ready for query". */
export function greetPostgres(): Buffer {
  const startup = [int32(PROTOCOL), text('user'), text(POSTGRES_USER)]
  const names = [text('database'), text('postgres'), Buffer.from([0])]
  const body = Buffer.concat([...startup, ...names])
  return Buffer.concat([
    int32(body.length + 4),
    body,
    message('P', [text(STATEMENT), text(UPSERT), int16(0)]),
    message('S', []),
  ])
}

/** Binds, executes and syncs. Both parameters go as text. */
export function upsertRequest(key: string, document: string): Buffer {
  const bind = [text(''), text(STATEMENT), int16(0), int16(2)]
  const parameters = [value(key), value(document), int16(0)]
  return Buffer.concat([
    message('B', [...bind, ...parameters]),
    message('E', [text(''), int32(0)]),
    message('S', []),
  ])
}

function message(type: string, parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts)
  return Buffer.concat([Buffer.from(type, 'latin1'), int32(body.length + 4), body])
}

function value(content: string): Buffer {
  const bytes = Buffer.from(content, 'utf8')
  return Buffer.concat([int32(bytes.length), bytes])
}

function text(content: string): Buffer {
  return Buffer.from(`${content}\0`, 'latin1')
}

function int16(number: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeInt16BE(number)
  return bytes
}

function int32(number: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeInt32BE(number)
  return bytes
}
