// Clients that leave at any moment and workers that end at any moment leave nothing behind.

import { readdirSync } from 'node:fs'
import path from 'node:path'
import { expect } from 'chai'
import { systemClock } from '../../lib/clock.ts'
import { seededRandom } from '../../lib/random.ts'
import { InferenceServer } from '../support/servers/inference-server.ts'
import {
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'
import { RawClient, head } from '../support/servers/raw-client.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'
import { until } from '../support/until.ts'

const CLIENTS = 250
const LEAVE_MS_MAX = 300
const CRASHES = 8
const CRASH_MS_MAX = 150
const GAUGES = ['requests_running', 'requests_waiting', 'queued_items']
/** Connections that the test itself keeps for its next request. */
const FILES_SLACK = 8

const many = (count: number, text: string): string[] =>
  Array.from({ length: count }, (_, i) => `${text} ${i}`)

/** Each costs time of another kind: of the queue, of steps, of streams, of the built-in thread. */
const REQUESTS: readonly (readonly [route: string, body: object])[] = [
  ['/api/embed', { model: 'slow', input: many(40, 'hello') }],
  ['/api/embed', { model: 'tiny', input: many(2048, 'world') }],
  ['/api/embed', { model: 'builtin-hash', input: 'x y z '.repeat(30_000) }],
  ['/api/chunk', { text: 'a b c. '.repeat(50_000) }],
  ['/api/rerank', { model: 'cross', query: 'hello', prompts: many(200, 'foo') }],
  ['/api/recognize', { model: 'ner', texts: ['alice works at acme corp '.repeat(2_000)] }],
  ['/api/rewrite', { model: 'sums', inputs: many(50, 'hello') }],
  [
    '/api/generate',
    {
      model: 'chat',
      messages: [{ role: 'user', content: 'hello world' }],
      max_tokens: 400,
      stream: true,
    },
  ],
]

describe('a storm of requests', function () {
  this.timeout(240_000)

  const { seed } = parseTestSettings(process.env)
  let server: InferenceServer

  beforeEach(async () => {
    server = await InferenceServer.start(
      async (root) => {
        await writeTinyEmbedder(path.join(root, 'embedders/tiny'))
        await writeTinyEmbedder(path.join(root, 'embedders/slow'), { products: 2 })
        await writeTinyReranker(path.join(root, 'rerankers/cross'))
        await writeTinyNer(path.join(root, 'recognizers/ner'))
        await writeTinyRewriter(path.join(root, 'rewriters/sums'))
        await writeTinyGenerator(path.join(root, 'generators/chat'))
      },
      { workers: 2 },
    )
    await until(async () => (await server.get('/readyz')).status === 200)
  })

  afterEach(() => server[Symbol.asyncDispose]())

  const metric = (name: string): Promise<number> => server.metric(`quarry_inference_${name}`)

  async function expectNothingLeft(): Promise<void> {
    for (const gauge of GAUGES) await until(async () => (await metric(gauge)) === 0)
    const last = await server.post('/api/embed', { model: 'tiny', input: 'after the storm' })
    expect(last.status).to.equal(200)
  }

  it(`whose clients all disconnect leaves nothing behind (QUARRY_TEST_SEED=${seed})`, async () => {
    const random = seededRandom(seed)
    const upTo = (limit: number): number => Math.floor(random() * limit)
    const before = openFiles()
    const plans = Array.from({ length: CLIENTS }, () => {
      const [route, body] = REQUESTS[upTo(REQUESTS.length)] ?? ['', {}]
      const text = JSON.stringify(body)
      // One in three leaves in the middle of its body.
      const sent = upTo(3) === 0 ? text.slice(0, upTo(text.length)) : text
      const headers = { 'Content-Type': 'application/json', 'Content-Length': text.length }
      return {
        bytes: head('POST', route, headers) + sent,
        comesAfterMs: upTo(LEAVE_MS_MAX),
        leavesAfterMs: upTo(LEAVE_MS_MAX),
      }
    })

    await Promise.all(
      plans.map(async ({ bytes, comesAfterMs, leavesAfterMs }) => {
        await systemClock.sleep(comesAfterMs)
        const client = await RawClient.open(server.url)
        client.socket.write(bytes)
        await systemClock.sleep(leavesAfterMs)
        await client.close()
      }),
    )

    await expectNothingLeft()
    await until(async () => openFiles() <= before + FILES_SLACK)
  })

  it(`during which workers end is answered, and later requests are served (QUARRY_TEST_SEED=${seed})`, async () => {
    const random = seededRandom(seed)
    const over = new AbortController()
    const answers: string[] = []
    const load = REQUESTS.map(async ([route, body]) => {
      while (!over.signal.aborted) {
        const { status, bytes } = await server.post(route, body)
        const isStream = bytes.subarray(0, 5).toString() === 'data:'
        answers.push(status === 200 || isStream ? '200' : `${status} ${codeOf(bytes)}`)
      }
    })

    for (let crash = 0; crash < CRASHES; crash++) {
      await systemClock.sleep(random() * CRASH_MS_MAX)
      server.running.fleet.crashWorker(crash % 2)
    }
    over.abort()
    await Promise.all(load)

    expect(new Set(answers).difference(new Set(['200', '503 UNAVAILABLE'])).size).to.equal(0)
    // What ended two workers rests for a while.
    await until(async () => {
      const { status } = await server.post('/api/embed', { model: 'tiny', input: 'again' })
      return status === 200
    })
    await expectNothingLeft()
  })
})

function openFiles(): number {
  return readdirSync('/proc/self/fd').length
}

function codeOf(bytes: Buffer): string {
  return JSON.parse(bytes.toString()).code
}
