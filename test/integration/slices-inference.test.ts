// The rule of slices in this server, for any request within the limits; and what a request makes the
// server hold is a small multiple of what it may send. A worker's process is held by runs of graphs, and while it
// tokenizes a text, whose length is bounded. Every operation of the contract is driven at its limits.
// Turns are measured in time of the processor, without collections of garbage.

import { once } from 'node:events'
import { mkdir, symlink } from 'node:fs/promises'
import { connect } from 'node:net'
import path from 'node:path'
import { expect } from 'chai'
import { loadContract } from '../../door/contract.ts'
import {
  writeTinyChunker,
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'
import { expectShortSlices, type Overrun, type SliceBounds } from '../support/slices/slice-rule.ts'
import { until } from '../support/until.ts'
import { WatchedInference, type WatchedRole } from '../support/processes/watched-inference.ts'

/** The time that one text of the largest size may take to tokenize. */
const TOKENIZING_MS_MAX = 500
/** Sixteen times the largest body: itself, its text, what is made of it, and what is garbage. */
const MEMORY_MIB_MAX = 16 * 32
const MIB = 2 ** 20
/** The largest body without the characters around a text. */
const CHARS_MAX = 32 * MIB - 1_000
const INPUTS_MAX = 2_048
const MODELS_MAX = 1_000
const SKIPPED_DIRECTORIES = 9_000
const ROLES = ['server', 'thread', 'worker'] as const
const JSON_ONLY = { accept: 'application/json' }

interface Load {
  readonly what: string
  readonly body?: object
  readonly headers?: Readonly<Record<string, string>>
  /** Default 200. */
  readonly status?: number
}

const long = (unit: string, chars = CHARS_MAX): string =>
  unit.repeat(Math.floor(chars / unit.length))
const many = (make: (index: number) => string, count = INPUTS_MAX): string[] =>
  Array.from({ length: count }, (_, index) => make(index))
/** So many different texts of this many characters. */
const texts = (chars: number, count = INPUTS_MAX): string[] =>
  many((index) => `${index} ${long('hello world ', chars)}`, count)

const chat = (content: string, more: object = {}): object => ({
  model: 'chat',
  messages: [{ role: 'user', content }],
  max_tokens: 4,
  ...more,
})
const CHATS: readonly Load[] = [
  { what: 'a prompt of the largest size', body: chat(long('hello ')), status: 400 },
  {
    what: 'all messages in parts',
    body: {
      model: 'chat',
      max_tokens: 4,
      messages: many(String).map((text) => ({
        role: 'user',
        content: Array.from({ length: 30 }, () => ({ type: 'text', text })),
      })),
    },
    status: 400,
  },
  { what: 'a long stream', body: chat('hello', { max_tokens: 500, stream: true, logprobs: true }) },
]
const GETS: readonly Load[] = [{ what: 'ten thousand directories' }]

/** By operationId; an operation without an entry fails. */
const LOADS: Readonly<Record<string, readonly Load[]>> = {
  getHealth: GETS,
  getReadiness: GETS,
  getContract: GETS,
  getDocs: GETS,
  getVersion: GETS,
  listModels: GETS,
  listOpenaiModels: GETS,
  getOpenaiModel: GETS,
  listTags: GETS,
  listLoadedModels: GETS,
  showModel: [{ what: 'one of ten thousand', body: { model: 'tiny' } }],
  chat: [
    {
      what: 'a prompt of the largest size',
      body: { model: 'chat', messages: [{ role: 'user', content: long('hello ') }] },
      status: 400,
    },
    {
      what: 'a long stream',
      body: {
        model: 'chat',
        messages: [{ role: 'user', content: 'hello' }],
        options: { num_predict: 500 },
      },
    },
  ],
  embedPrompt: [
    { what: 'a text of the largest size', body: { model: 'wide', prompt: long('hello ') } },
  ],
  embed: [
    { what: 'a text of the largest size', body: { model: 'builtin-hash', input: long('hello ') } },
    { what: 'one long word', body: { model: 'builtin-hash', input: long('x') } },
    { what: 'ideographs', body: { model: 'builtin-hash', input: long('語', CHARS_MAX / 3) } },
    {
      what: 'all inputs as JSON',
      body: { model: 'builtin-hash', input: texts(64) },
      headers: JSON_ONLY,
    },
    { what: 'wide vectors', body: { model: 'wide', input: texts(4, 64) }, headers: JSON_ONLY },
    { what: 'long texts for a model', body: { model: 'tiny', input: texts(15_000) } },
    {
      what: 'an image that is none',
      body: { model: 'tiny', input: [{ type: 'image_url', image_url: { url: long('A') } }] },
      status: 400,
    },
  ],
  createEmbeddings: [
    {
      what: 'base64 of wide vectors',
      body: { model: 'wide', input: texts(8, 64), encoding_format: 'base64' },
    },
    { what: 'all inputs', body: { model: 'builtin-hash', input: texts(15_000) } },
    {
      what: 'as many tokens as there may be',
      body: {
        model: 'tiny',
        input: Array.from({ length: 4 }, () => Array.from({ length: 65_000 }, () => 4)),
      },
    },
  ],
  chunk: [
    {
      what: 'as many chunks as there may be',
      body: {
        text: long('abcde '),
        config: { target_tokens: 8192, overlap_tokens: 4096, max_chunks: 10_000, separator: ' ' },
      },
    },
    {
      what: 'a text of nothing but separators',
      body: {
        text: `${long('\n', CHARS_MAX / 2)}a`,
        config: { separator: '\n', max_chunks: 10_000 },
      },
    },
    {
      what: 'one long word',
      body: {
        text: long('x'),
        config: { target_tokens: 1, overlap_tokens: 0, max_chunks: 10_000 },
      },
    },
    {
      what: 'a text that is too long for the model',
      body: { text: long('hello. '), config: { model: 'stops' } },
    },
    {
      what: 'the longest text for the model',
      body: { text: long('hello. ', 256 * 1024), config: { model: 'stops' } },
    },
  ],
  rerank: [
    {
      what: 'a long query beside many prompts',
      body: {
        model: 'cross',
        query: long('hello ', CHARS_MAX / 2),
        prompts: texts(4_000, INPUTS_MAX),
      },
    },
  ],
  recognize: [
    {
      what: 'a text of the largest size',
      body: { model: 'ner', texts: [long('alice ')] },
      status: 400,
    },
    {
      what: 'the longest text of all',
      body: { model: 'ner', texts: [long('alice ', 256 * 1024)] },
    },
    { what: 'many texts', body: { model: 'ner', texts: texts(500) } },
  ],
  rewrite: [
    { what: 'a text of the largest size', body: { model: 'sums', inputs: [long('hello ')] } },
    { what: 'many texts', body: { model: 'sums', inputs: texts(100, 256) } },
  ],
  generate: CHATS,
  createChatCompletion: CHATS,
}

describe('no request within the limits holds up the inference server', function () {
  this.timeout(240_000)
  const { operations } = loadContract('inference.v1')
  let server: WatchedInference

  before(async () => {
    server = await WatchedInference.start(writeModels)
    await until(async () => (await fetch(`${server.url}/readyz`)).status === 200)
    await ask('/api/embed', { body: { model: 'tiny', input: 'hello' } })
    await ask('/api/embed', { body: { model: 'wide', input: 'hello' } })
    // The first request of each operation has its validator compiled; that is once, and short.
    for (const { method, template } of operations) {
      await ask(template.replace('{model}', 'tiny'), method === 'GET' ? {} : { body: {} })
    }
  })

  after(() => server[Symbol.asyncDispose]())

  async function overruns(role: WatchedRole, workMsMax: number): Promise<readonly Overrun[]> {
    const { workMs } = await server.longestTurnMs(role)
    return workMs < workMsMax ? [] : [`${workMs} ms of work in a turn: ${role}`]
  }

  async function overrunsOfAll(bounds: SliceBounds): Promise<readonly Overrun[]> {
    const work = await Promise.all([
      overruns('server', bounds.loop),
      overruns('thread', bounds.worker),
      overruns('worker', TOKENIZING_MS_MAX * bounds.slowdown),
    ])
    const turns = await Promise.all(ROLES.map((role) => server.longestTurnMs(role)))
    const longestMs = Math.max(...turns.map(({ cpuMs }) => cpuMs))
    const isShort = longestMs < bounds.withCollections
    return [...work.flat(), ...(isShort ? [] : [`${longestMs} ms in a turn with collections`])]
  }

  async function ask(route: string, { body, headers = {} }: Omit<Load, 'what'>): Promise<number> {
    const sent = { 'content-type': 'application/json', ...headers }
    const response = await fetch(
      server.url + route,
      body === undefined ? {} : { method: 'POST', headers: sent, body: JSON.stringify(body) },
    )
    for await (const _ of response.body ?? []) continue
    return response.status
  }

  it('holds little memory for answers that no client reads', async () => {
    const text = long('abcde ', 4 * MIB)
    const config = { target_tokens: 8192, overlap_tokens: 4096, max_chunks: 10_000, separator: ' ' }
    const body = JSON.stringify({ text, config })
    const { port } = new URL(server.url)
    const head = `POST /api/chunk HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nContent-Type: application/json\r\n`
    await server.mark()
    const heldMib = server.heldMib()

    const clients = Array.from({ length: 8 }, () => connect(Number(port), '127.0.0.1'))
    const begun = clients.map(async (client) => {
      client.write(`${head}Content-Length: ${body.length}\r\n\r\n${body}`)
      await once(client, 'readable') // and nothing is read
    })
    await Promise.all(begun)
    const peakMib = server.peakMib()
    for (const client of clients) client.destroy()

    expect(peakMib - heldMib).to.be.below(MEMORY_MIB_MAX)
  })

  for (const { operationId, template } of operations) {
    it(`has loads for ${operationId}`, () => {
      expect(LOADS[operationId] ?? []).to.have.length.above(0)
    })

    for (const load of LOADS[operationId] ?? []) {
      it(`${operationId}: ${load.what}`, () =>
        expectShortSlices(async (_, boundsNow) => {
          await server.mark()
          const heldMib = server.heldMib()

          const status = await ask(template.replace('{model}', 'tiny'), load)

          expect(status).to.equal(load.status ?? 200)
          expect(server.peakMib() - heldMib).to.be.below(MEMORY_MIB_MAX)
          return overrunsOfAll(boundsNow())
        }))
    }
  }
})

async function writeModels(root: string): Promise<void> {
  const at = (place: string): string => path.join(root, place)
  await writeTinyEmbedder(at('embedders/tiny'))
  await writeTinyEmbedder(at('embedders/wide'), { repeats: 2_048 })
  await writeTinyReranker(at('rerankers/cross'))
  await writeTinyNer(at('recognizers/ner'))
  await writeTinyRewriter(at('rewriters/sums'))
  await writeTinyGenerator(at('generators/chat'))
  await writeTinyChunker(at('chunkers/stops'))
  for (let i = 0; i < MODELS_MAX; i++) await symlink(at('embedders/tiny'), at(`embedders/x${i}`))
  for (let i = 0; i < SKIPPED_DIRECTORIES; i++) await mkdir(at(`rewriters/zowner${i}`))
}
