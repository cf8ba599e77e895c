// How each provider's server answers a good request to embed. A double reads the request as the provider's
// documentation has it, and refuses others, so that a request of another form fails its test.

import { assert } from '../../../../lib/assert.ts'
import type { ReceivedRequest } from '../scripted-server.ts'

/** The numbers of one text, by which a test knows which text it was. */
export type VectorOf = (text: string) => readonly number[]

/** A server's side of one protocol. */
export interface WireDouble {
  /** The texts of a request; an image is its data. Throws for a request of another form. */
  textsOf(request: ReceivedRequest): readonly string[]
  /** The answer with these vectors. */
  answer(vectors: readonly (readonly number[])[], request: ReceivedRequest): Buffer
  /** An error as the provider writes it. */
  error(message: string): unknown
}

type Json = Readonly<Record<string, unknown>>

function bodyOf({ body }: ReceivedRequest): Json {
  const value: Json = JSON.parse(body)
  return value
}

function texts(value: unknown): readonly string[] {
  assert(Array.isArray(value), 'a list of inputs')
  const list: readonly unknown[] = value
  return list.map((each) => {
    assert(typeof each === 'string', 'an input is a text')
    return each
  })
}

/** Finite decimals, and what JSON can say of others: 1e999 is read as infinity. */
function decimals(vectors: readonly (readonly number[])[]): string {
  const numbers = vectors.map((vector) =>
    vector.map((value) => (Number.isFinite(value) ? String(value) : '1e999')).join(','),
  )
  return `[${numbers.map((each) => `[${each}]`).join(',')}]`
}

function floats(vector: readonly number[]): Buffer {
  const bytes = Buffer.alloc(vector.length * 4)
  vector.forEach((value, at) => bytes.writeFloatLE(value, at * 4))
  return bytes
}

function checkPath({ path, method }: ReceivedRequest, expected: RegExp): void {
  assert(method === 'POST' && expected.test(path), `POST ${expected.source}, not ${method} ${path}`)
}

export const openaiDouble: WireDouble = {
  textsOf: (request) => {
    checkPath(request, /^\/v1\/embeddings$/)
    const { input, model, encoding_format: form } = bodyOf(request)
    assert(typeof model === 'string' && form === 'base64', 'a model, and vectors in base64')
    return texts(input)
  },
  // The protocol promises no order, and clients have to read the indexes.
  answer: (vectors) => {
    const data = vectors.map((vector, index) => ({
      object: 'embedding',
      index,
      embedding: floats(vector).toString('base64'),
    }))
    return Buffer.from(JSON.stringify({ object: 'list', data: data.toReversed() }))
  },
  error: (message) => ({ error: { message, type: 'invalid_request_error', code: null } }),
}

/** Servers that know no base64, and name no input. */
export const openaiDecimalDouble: WireDouble = {
  ...openaiDouble,
  answer: (vectors) => {
    const data = vectors.map((vector) => `{"embedding":${decimals([vector]).slice(1, -1)}}`)
    return Buffer.from(`{"data":[${data.join(',')}]}`)
  },
}

export const ollamaDouble: WireDouble = {
  textsOf: (request) => {
    checkPath(request, /^\/api\/embed$/)
    return texts(bodyOf(request)['input'])
  },
  answer: (vectors) => Buffer.from(`{"model":"m","embeddings":${decimals(vectors)}}`),
  error: (message) => ({ error: message }),
}

export const quarryDouble: WireDouble = {
  textsOf: (request) => {
    checkPath(request, /^\/api\/embed$/)
    assert(request.headers.accept === 'application/octet-stream', 'vectors in bytes')
    const { input } = bodyOf(request)
    assert(Array.isArray(input), 'a list of inputs')
    const list: readonly unknown[] = input
    return list.map((each) => (typeof each === 'string' ? each : JSON.stringify(each)))
  },
  answer: (vectors) => {
    const header = Buffer.alloc(16)
    header.writeBigUInt64LE(BigInt(vectors.length), 0)
    header.writeBigUInt64LE(BigInt(vectors.at(-1)?.length ?? 0), 8)
    return Buffer.concat([header, ...vectors.map(floats)])
  },
  error: (message) => ({ error: message, code: 'INVALID_ARGUMENT' }),
}

export const geminiDouble: WireDouble = {
  textsOf: (request) => {
    checkPath(request, /^\/v1beta\/models\/[\w.-]+:batchEmbedContents$/)
    assert(typeof request.headers['x-goog-api-key'] === 'string', 'a key in its header')
    const { requests } = bodyOf(request)
    assert(Array.isArray(requests), 'a list of requests')
    const list: readonly { content: { parts: { text: string }[] }; taskType: string }[] = requests
    return list.map(({ content, taskType }) => {
      assert(taskType.startsWith('RETRIEVAL_'), 'a task type')
      return content.parts.map(({ text }) => text).join('\n')
    })
  },
  answer: (vectors) => {
    const all = vectors.map((vector) => `{"values":${decimals([vector]).slice(1, -1)}}`)
    return Buffer.from(`{"embeddings":[${all.join(',')}]}`)
  },
  error: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
}

export const vertexDouble: WireDouble = {
  textsOf: (request) => {
    checkPath(
      request,
      /^\/v1\/projects\/[\w-]+\/locations\/[\w-]+\/publishers\/google\/models\/[\w.-]+:predict$/,
    )
    assert(request.headers.authorization?.startsWith('Bearer ') === true, 'a token')
    const { instances } = bodyOf(request)
    assert(Array.isArray(instances), 'a list of instances')
    const list: readonly { content: string }[] = instances
    return list.map(({ content }) => content)
  },
  answer: (vectors) => {
    const all = vectors.map(
      (vector) => `{"embeddings":{"values":${decimals([vector]).slice(1, -1)}}}`,
    )
    return Buffer.from(`{"predictions":[${all.join(',')}]}`)
  },
  error: (message) => ({ error: { code: 400, message, status: 'INVALID_ARGUMENT' } }),
}

export const cohereDouble: WireDouble = {
  textsOf: (request) => {
    checkPath(request, /^\/v2\/embed$/)
    const { texts: input, input_type: type, embedding_types: types } = bodyOf(request)
    assert(typeof type === 'string' && Array.isArray(types) && types[0] === 'float', 'types')
    return texts(input)
  },
  answer: (vectors) => Buffer.from(`{"id":"1","embeddings":{"float":${decimals(vectors)}}}`),
  error: (message) => ({ message }),
}

export const titanDouble: WireDouble = {
  textsOf: (request) => {
    checkPath(request, /^\/model\/[^/]+\/invoke$/)
    assert(
      request.headers.authorization?.startsWith('AWS4-HMAC-SHA256 ') === true,
      'a signed request',
    )
    const { inputText } = bodyOf(request)
    assert(typeof inputText === 'string', 'one text')
    return [inputText]
  },
  answer: (vectors) => Buffer.from(`{"embedding":${decimals(vectors).slice(1, -1) || '[]'}}`),
  error: (message) => ({ message }),
}

export const bedrockCohereDouble: WireDouble = {
  ...titanDouble,
  textsOf: (request) => {
    checkPath(request, /^\/model\/[^/]+\/invoke$/)
    return texts(bodyOf(request)['texts'])
  },
  answer: (vectors) => Buffer.from(`{"embeddings":${decimals(vectors)}}`),
}
