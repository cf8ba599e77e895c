// Ten minutes of everything at once against the server as a process of its own: every task, models
// that push each other out, clients that leave, and, while it warms up, workers that are killed (a new
// worker is a small one). Memory must level off.
//
// Not part of `npm test`: `npm run test:soak:inference`, QUARRY_SOAK_SECONDS says how long.

import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect } from 'chai'
import { readTreeMemory, treeOf } from '../../bench/process-tree.ts'
import { seededRandom } from '../../lib/random.ts'
import type { Random } from '../../lib/random.ts'
import {
  writeTinyChunker,
  writeTinyEmbedder,
  writeTinyGenerator,
  writeTinyNer,
  writeTinyReranker,
  writeTinyRewriter,
} from '../support/inference/model-directories.ts'
import { parseTestSettings } from '../support/worlds/test-settings.ts'

const BIN = path.resolve(import.meta.dirname, '../../bin/quarry')
const WORKER_ENTRY = 'model-worker-entry.ts'
const CLIENTS = 6
const SAMPLE_PERIOD_MS = 1_000
const KILL_PERIOD_MS = 20_000
/** Caches, heaps and arenas fill up first. */
const WARM_UP_SHARE = 0.3
/** The share of the warm-up in which workers are killed. */
const KILLING_SHARE = 0.5
const WINDOW_SHARE = 0.2
const GROWTH_MAX = 1.05
/** Small, so that it is full before the warm-up is over. */
const CACHE_BYTES = '2000000'
const WORDS = ['hello', 'worlds', 'foo', 'bar', 'alice', 'works', 'at', 'acme', 'corp', 'paris']
const { seed, soakSeconds } = parseTestSettings(process.env)

describe('the inference server under everything at once', () => {
  let folder: string
  let child: ChildProcess
  let api: string
  let pid: number

  before(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'quarry-soak-'))
    const at = (name: string): string => path.join(folder, 'models', name)
    await writeTinyEmbedder(at('embedders/tiny'))
    await writeTinyEmbedder(at('embedders/other'), { scale: 2 })
    await writeTinyReranker(at('rerankers/cross'))
    await writeTinyNer(at('recognizers/ner'))
    await writeTinyChunker(at('chunkers/stops'))
    await writeTinyRewriter(at('rewriters/sums'))
    await writeTinyGenerator(at('generators/sums'))
    child = spawn(process.execPath, [BIN, 'inference', '--port', '0', '--health-port', '0'], {
      cwd: folder,
      stdio: ['ignore', 'pipe', 'ignore'],
      env: {
        ...process.env,
        QUARRY_INFERENCE_LOADED_MODELS_MAX: '4',
        QUARRY_INFERENCE_CACHE_BYTES_MAX: CACHE_BYTES,
      },
    })
    const [line] = await once(createInterface({ input: child.stdout! }), 'line')
    api = JSON.parse(line).api
    pid = child.pid!
  })

  after(async () => {
    if (child.exitCode === null && child.signalCode === null) {
      child.kill('SIGKILL')
      await once(child, 'close')
    }
    await rm(folder, { recursive: true })
  })

  it(`levels off within ${soakSeconds} s, seed ${seed}, and ends in order`, async () => {
    const stop = AbortSignal.timeout(soakSeconds * 1_000)
    const tally = new Map<string, number>()
    const clients = Array.from({ length: CLIENTS }, (_, i) =>
      client(api, seededRandom(seed + i), stop, tally),
    )
    const warm = AbortSignal.timeout(soakSeconds * WARM_UP_SHARE * KILLING_SHARE * 1_000)
    const killer = killWorkers(pid, seededRandom(seed), AbortSignal.any([stop, warm]))

    const samples: number[] = []
    while (!stop.aborted) {
      samples.push(await readTreeMemory(pid))
      await sleep(SAMPLE_PERIOD_MS, undefined, { signal: stop }).catch(() => undefined)
    }
    await Promise.all([...clients, killer])
    child.kill('SIGTERM')
    const [code] = await once(child, 'close')

    const from = Math.floor(samples.length * WARM_UP_SHARE)
    const window = Math.max(1, Math.floor(samples.length * WINDOW_SHARE))
    const early = median(samples.slice(from, from + window))
    const late = median(samples.slice(-window))
    process.stdout.write(
      `    ${JSON.stringify(Object.fromEntries(tally))}\n` +
        `    resident: ${early.toFixed(0)} MiB early, ${late.toFixed(0)} MiB late\n`,
    )
    expect(code).to.equal(0)
    expect([...tally.keys()].filter((key) => key.endsWith(' 500'))).to.deep.equal([])
    expect(late / early).to.be.lessThan(GROWTH_MAX)
  })
})

async function client(
  api: string,
  random: Random,
  stop: AbortSignal,
  tally: Map<string, number>,
): Promise<void> {
  while (!stop.aborted) {
    const [route, body] = anyRequest(random)
    // One client in twenty does not wait for its answer.
    const patience = random() < 0.05 ? AbortSignal.timeout(Math.ceil(random() * 20)) : stop
    const outcome = await send(api + route, body, patience)
    const key = `${route} ${outcome}`
    tally.set(key, (tally.get(key) ?? 0) + 1)
  }
}

async function send(url: string, body: object, signal: AbortSignal): Promise<string> {
  try {
    const headers = { 'content-type': 'application/json' }
    const response = await fetch(url, {
      method: 'POST',
      headers,
      body: JSON.stringify(body),
      signal,
    })
    await response.arrayBuffer()
    return String(response.status)
  } catch (error) {
    if (signal.aborted) return 'left'
    return `broken: ${String(error)}`
  }
}

function anyRequest(random: Random): readonly [string, object] {
  const text = (): string =>
    Array.from({ length: 1 + Math.floor(random() * 60) }, () => oneOf(WORDS, random)).join(' ')
  const texts = (max: number): string[] =>
    Array.from({ length: 1 + Math.floor(random() * max) }, text)
  const choices: readonly (() => readonly [string, object])[] = [
    () => ['/api/embed', { model: oneOf(['tiny', 'other'], random), input: texts(64) }],
    () => ['/api/embed', { model: 'builtin-hash', input: texts(16) }],
    () => ['/api/rerank', { model: 'cross', query: text(), prompts: texts(32) }],
    () => ['/api/recognize', { model: 'ner', texts: texts(8) }],
    () => ['/api/chunk', { text: texts(40).join('. '), config: { model: 'stops' } }],
    () => ['/api/chunk', { text: texts(40).join('\n\n'), config: { target_tokens: 50 } }],
    () => ['/api/rewrite', { model: 'sums', inputs: texts(2) }],
    () => ['/api/generate', chat(text(), random)],
    () => ['/api/embed', { model: 'none', input: 'a' }],
  ]
  return oneOf(choices, random)()
}

function chat(content: string, random: Random): object {
  const messages = [{ role: 'user', content }]
  return { model: 'sums', messages, max_tokens: 24, stream: random() < 0.5 }
}

async function killWorkers(pid: number, random: Random, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    await sleep(KILL_PERIOD_MS, undefined, { signal: stop }).catch(() => undefined)
    if (stop.aborted) return
    const workers = await workersOf(pid)
    if (workers.length > 0) process.kill(oneOf(workers, random), 'SIGKILL')
  }
}

function oneOf<T>(values: readonly T[], random: Random): T {
  return values[Math.floor(random() * values.length)]!
}

async function workersOf(pid: number): Promise<number[]> {
  const workers: number[] = []
  for (const each of await treeOf(pid)) {
    const command = await readFile(`/proc/${each}/cmdline`, 'utf8').catch(() => '')
    if (command.includes(WORKER_ENTRY)) workers.push(each)
  }
  return workers
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0
}
