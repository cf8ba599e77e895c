// Requests to a store at the limits of what a client may ask, for the rule of slices.

import { expect } from 'chai'
import { countTo } from '../loads/load.ts'
import type { StoreClient } from '../servers/store-client.ts'

export const MIB = 1024 * 1024
export const TABLES = '/api/v1/tables'

interface Answered {
  readonly status: number
  readonly text: string
}

export async function expectStatus(answer: Promise<Answered>, status: number): Promise<void> {
  const { status: found, text } = await answer
  expect(found, text.slice(0, 500)).to.equal(status)
}

/** A second attempt finds the table of the first. */
export async function prepareTable(
  client: StoreClient,
  table: string,
  request: object = {},
): Promise<void> {
  const { status } = await client.send('POST', `${TABLES}/${table}`, request)
  expect(status).to.be.oneOf([200, 409])
}

const VECTORS = 10_000
export const vectorOf = (n: number): readonly number[] => countTo(32).map((i) => Math.sin(n * i))

/** Ten thousand documents with a vector each. */
export async function prepareVectors(client: StoreClient): Promise<void> {
  const near = { type: 'embeddings', external: true, dimension: 32 }
  const { status } = await client.send('POST', `${TABLES}/vectored`, { indexes: { near } })
  if (status === 409) return
  for (let at = 0; at < VECTORS; at += 1000) {
    const inserts = Object.fromEntries(
      countTo(1000).map((i) => {
        const n = at + i
        return [`k${n}`, { title: 'the sea', n, _embeddings: { near: vectorOf(n) } }]
      }),
    )
    const sync_level = at + 1000 === VECTORS ? 'full_index' : 'write'
    await client.batch('vectored', { inserts, sync_level })
  }
}

export function post(
  client: StoreClient,
  asked: string,
  body: string | Uint8Array<ArrayBuffer>,
  encoding = 'identity',
): Promise<Response> {
  const headers = { 'content-type': 'application/json', 'content-encoding': encoding }
  return fetch(`${client.url}${asked}`, { method: 'POST', headers, body })
}

/** The bytes of an answer that may be longer than the longest string. */
export async function bytesOf({ body }: Response): Promise<number> {
  let bytes = 0
  for await (const chunk of body ?? []) bytes += chunk.length
  return bytes
}

export const tinyDocuments = (count: number, prefix = ''): string =>
  `{${countTo(count)
    .map((n) => `"${prefix}${n.toString(36)}":{}`)
    .join(',')}}`

/** One document of many small values. */
export const manyValues = (mib: number): string =>
  `{"n":1,"list":[${'{"a":1,"b":[true,null]},'.repeat((mib * MIB) / 24)}0]}`

/** One document that is one long text. */
export const longText = (mib: number): string =>
  `{"n":1,"text":"${'sea and sand '.repeat((mib * MIB) / 13)}"}`

export const schemaOf = (properties: number): unknown => ({
  default_type: 'd',
  document_schemas: {
    d: {
      schema: {
        type: 'object',
        properties: Object.fromEntries(
          countTo(properties).map((n) => [`field_${n}`, { type: 'string' }]),
        ),
      },
    },
  },
})

export const lines = (count: number, query: string): string => `${query}\n`.repeat(count)
